// The element-wise half of a feed-forward layer.
//
// SwiGLU (Shazeer 2020): out[i] = gate[i] * sigmoid(gate[i]) * up[i].
//
//   e = exp_nonpositive(-|g|) (kernels/simd/exp.h), sigmoid = (g < 0 ? e : 1) / (1 + e),
//   out = (max(g, -88) * sigmoid) * up
//
// Every ISA level gives the same bits. The sigmoid's relative error is below 2.5e-7 for g > -87.3;
// below that it is 0, so out is -0 or 0 where the truth is above -1.1e-36 |up|, for gate = -inf
// too. From g = 17 up the sigmoid is exactly 1. NaN stays NaN.
//
// SwiGLU with limits, as gpt-oss has it (OpenAI 2025, arXiv 2508.10925): out[i] = g sigmoid(alpha
// g) (u + 1), g = min(gate[i], limit), u = up[i] between -limit and limit.
//
//   t = alpha * g, the sigmoid of t as above, out = (max(g, -88) * sigmoid) * (u + 1)
//
// Every ISA level gives the same bits. t rounds once, so the sigmoid's relative error is below
// 2.5e-7 + 6e-8 |t| (1 - sigmoid) for t > -87.3 (g = -51.3); below that it is 0, so out is -0 or 0
// where the truth is below 5e-37 in size, for gate = -inf too. A gate of inf, and an up of inf or
// -inf, count as their limits. NaN stays NaN.
//
// GELU (Hendrycks and Gimpel 2016) in its exact form, by erf, and GEGLU (Shazeer 2020):
// gelu(x) = x / 2 (1 + erf(x / sqrt 2)) = max(x, 0) - |x| Q(|x|), Q(t) = erfc(t / sqrt 2) / 2,
// out[i] = gelu(x[i] + bias[i]) [* up[i]].
//
//   g = x + bias, n = max(-|g|, -5.5), Q = exp_nonpositive(P(n)), 0 where |g| > 5.5; P of degree 10
//   in Horner's form, P(n) near ln Q(-n); out = fma(n, Q, max(g, 0)) [* up]
//
// Every ISA level gives the same bits. |error| <= 1.4e-7 |g| before `up`. For -5.5 <= g < 0, where
// the result comes close to 0, the relative error is below 3.4e-6 too, and below 5e-7 from -1 up;
// for g < -5.5 the result is 0 where the truth is above -1.1e-7. From g = 5.5 up it is exactly g.
// So gelu(-inf) is 0; NaN stays NaN. How far off P is: kernels/activation/gelu.h.
//
// GELU by tanh (the same paper's approximation, which Gemma is trained with):
// gelu_tanh(x) = x / 2 (1 + tanh(s)) = x sigmoid(2 s), s = sqrt(2 / pi) (x + 0.044715 x^3),
// out[i] = gelu_tanh(x[i] + bias[i]) [* up[i]].
//
//   g = x + bias, t = g * fma(C, g * g, L) with L = 2 sqrt(2 / pi) and C = 0.044715 L in binary32,
//   the sigmoid of t as above, out = (max(g, -88) * sigmoid) [* up]
//
// Every ISA level gives the same bits. t has a relative error below 2.4e-7. |error| <= 2.4e-7 |g|
// before `up`; for g < 0, where the result comes close to 0, the relative error is below 3.2e-7 +
// 2.4e-7 |t| too, until t = -87.3 (g = -10.06). Below that the result is 0 where the truth is above
// -1.2e-37, for g = -inf too. From g = 5.1 up it is exactly g. NaN stays NaN.
//
// A soft cap, as Gemma has it for logits (Gemma Team 2024, arXiv 2408.00118): out[i] = cap
// tanh(x[i] / cap).
//
//   t = x * (2 / cap), out = fma(2 cap, sigmoid(t), -cap)
//
// 2 / cap and 2 cap round once. Every ISA level gives the same bits. |error| <= 6.2e-7 cap; +-inf
// gives +-cap, 0 gives 0, NaN stays NaN.
#pragma once

#include <cstdint>

namespace hearth {

struct SiluMulArgs {
  const float* gate;
  const float* up;
  uint32_t n;
  float* out;  // may be gate or up
};

// Constants of SwiGLU with limits.
inline constexpr float kSwigluLimit = 7.0f, kSwigluAlpha = 1.702f;

// Gates are raised to this floor, since -inf * 0 would be NaN; the sigmoid below it is 0 anyway.
inline constexpr float kGateFloor = -88.0f;

struct GeluArgs {
  const float* x;
  const float* bias;  // null: no bias
  const float* up;    // null: no factor
  uint32_t n;
  float* out;  // may be x or up
};

struct SoftCapArgs {
  const float* x;
  uint32_t n;
  float cap;   // above 0
  float* out;  // may be x
};

inline constexpr float kGeluTanhLinear = 0x1.988454p+0f;  // 2 sqrt(2 / pi)
inline constexpr float kGeluTanhCubic = 0x1.2444f2p-4f;   // 0.044715 times as much

}  // namespace hearth
