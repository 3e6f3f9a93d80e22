// SwiGLU, SwiGLU with limits, both GELUs and the soft cap of activation.h over Vec16
// (kernels/simd/). ISA files include it after their Vec16.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/activation/gelu.h"
#include "kernels/simd/exp-inl.h"
#include "kernels/simd/sigmoid-inl.h"

namespace hearth {
namespace {

// Returns g sigmoid(t).
inline Vec16 times_sigmoid(Vec16 g, Vec16 t) {
  return mul(max(Vec16::all(kGateFloor), g), sigmoid(t));
}

inline Vec16 silu(Vec16 g) { return times_sigmoid(g, g); }

inline void silu_mul(const SiluMulArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, mul(silu(Vec16::load(a.gate + i)), Vec16::load(a.up + i)));
  }
  store_part(
      a.out + whole, rest,
      mul(silu(Vec16::load_part(a.gate + whole, rest)), Vec16::load_part(a.up + whole, rest)));
}

// Returns the lower of the two; NaN if x is NaN.
inline Vec16 at_most(float limit, Vec16 x) { return negate(max(Vec16::all(-limit), negate(x))); }

inline Vec16 clamped_swiglu(Vec16 gate, Vec16 up) {
  const Vec16 g = at_most(kSwigluLimit, gate);
  const Vec16 u = max(Vec16::all(-kSwigluLimit), at_most(kSwigluLimit, up));
  return mul(times_sigmoid(g, mul(Vec16::all(kSwigluAlpha), g)), add(u, Vec16::all(1.0f)));
}

inline void clamped_swiglu(const SiluMulArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, clamped_swiglu(Vec16::load(a.gate + i), Vec16::load(a.up + i)));
  }
  if (rest == 0) return;
  store_part(
      a.out + whole, rest,
      clamped_swiglu(Vec16::load_part(a.gate + whole, rest), Vec16::load_part(a.up + whole, rest)));
}

inline Vec16 gelu(Vec16 g) {
  const Vec16 below = negate(absolute(g));
  const Vec16 n = max(Vec16::all(-kGeluEnd), below);
  Vec16 p = Vec16::all(kGelu[kGeluDegree]);
  HEARTH_UNROLL
  for (int k = kGeluDegree - 1; k >= 0; --k) p = fma(p, n, Vec16::all(kGelu[k]));
  const Vec16 tail = zero_below(below, -kGeluEnd, exp_nonpositive(p));
  return fma(n, tail, max(Vec16::zero(), g));
}

inline Vec16 gelu_tanh(Vec16 g) {
  const Vec16 slope = fma(Vec16::all(kGeluTanhCubic), mul(g, g), Vec16::all(kGeluTanhLinear));
  return times_sigmoid(g, mul(g, slope));
}

// Returns the result for the 16 elements from `i` on, which load(p + i) reads.
template <typename Curve, typename Load>
inline Vec16 gelu_at(const GeluArgs& a, uint32_t i, const Curve& curve, const Load& load) {
  Vec16 g = load(a.x + i);
  if (a.bias != nullptr) g = add(g, load(a.bias + i));
  g = curve(g);
  return a.up == nullptr ? g : mul(g, load(a.up + i));
}

template <typename Curve>
inline void gelu_by(const GeluArgs& a, const Curve& curve) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, gelu_at(a, i, curve, [](const float* p) { return Vec16::load(p); }));
  }
  if (rest == 0) return;
  auto load_rest = [rest](const float* p) { return Vec16::load_part(p, rest); };
  store_part(a.out + whole, rest, gelu_at(a, whole, curve, load_rest));
}

inline void gelu(const GeluArgs& a) {
  gelu_by(a, [](Vec16 g) { return gelu(g); });
}

inline void gelu_tanh(const GeluArgs& a) {
  gelu_by(a, [](Vec16 g) { return gelu_tanh(g); });
}

inline void soft_cap(const SoftCapArgs& a) {
  const Vec16 by = Vec16::all(2.0f / a.cap), twice = Vec16::all(2.0f * a.cap);
  const Vec16 below = Vec16::all(-a.cap);
  auto capped = [&](Vec16 x) { return fma(twice, sigmoid(mul(x, by)), below); };
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) store(a.out + i, capped(Vec16::load(a.x + i)));
  if (rest == 0) return;
  store_part(a.out + whole, rest, capped(Vec16::load_part(a.x + whole, rest)));
}

}  // namespace
}  // namespace hearth
