// Computes a token's gates of a state (kernels/recurrent/delta_rule.h), for n heads:
//
//   decay = e^(rate softplus(alpha + bias)), beta = sigmoid(beta),  softplus(x) = ln(1 + e^x)
//
// As computed: x = alpha + bias, u = exp_nonpositive(-|x|) (kernels/simd/exp.h),
//   softplus = max(x, 0) + log1p(u), decay = exp_nonpositive(rate softplus)
// and the sigmoid of kernels/simd/sigmoid.h. With s = u / (2 + u), so that ln(1 + u) = 2 artanh(s):
//
//   log1p(u) = fma(2 s s^2, L(s^2), 2 s), L of degree 3 in Horner's form
//
// L is minimax over [0, 1] for the relative error of log1p, by a Remez exchange in double over 6000
// Chebyshev points. Its coefficients, rounded to binary32, leave an error of 5.5e-9. In binary32
// the softplus has a relative error below 4e-7 for every x whose e^x is not subnormal (x > -87.3);
// for smaller x it is 0. So the relative error of decay is below 1.3e-7 + 5e-7 |ln decay|, and
// decay is 0 where the truth is below 1.2e-38. Every ISA level gives the same bits. NaN stays NaN.
#pragma once

#include <cstdint>

namespace hearth {

struct DeltaGatesArgs {
  const float* alpha;  // [n]
  const float* bias;   // [n]
  const float* rate;   // [n], none above 0
  const float* beta;   // [n], before the sigmoid
  uint32_t n;
  float* decay;     // [n], may be alpha
  float* strength;  // [n], may be beta
};

// L, by ascending power.
inline constexpr float kLog1p[] = {0x1.555502p-2f, 0x1.99d208p-3f, 0x1.1ebd0ep-3f, 0x1.1ed7bep-3f};
inline constexpr int kLog1pDegree = 3;

}  // namespace hearth
