// The gates of delta_gates.h over Vec16 (kernels/simd/). ISA files include it after their Vec16.
#pragma once

#include "kernels/recurrent/delta_gates.h"
#include "kernels/simd/exp-inl.h"
#include "kernels/simd/sigmoid-inl.h"

namespace hearth {
namespace {

inline Vec16 softplus(Vec16 x) {
  const Vec16 u = exp_nonpositive(negate(absolute(x)));
  const Vec16 s = div(u, add(u, Vec16::all(2.0f)));
  const Vec16 twice = add(s, s), square = mul(s, s);
  Vec16 p = Vec16::all(kLog1p[kLog1pDegree]);
  HEARTH_UNROLL
  for (int i = kLog1pDegree - 1; i >= 0; --i) p = fma(p, square, Vec16::all(kLog1p[i]));
  return add(max(Vec16::zero(), x), fma(mul(twice, square), p, twice));
}

// Computes the gates of the 16 heads from `i` on, which load(p + i) reads.
template <typename Load, typename Store>
inline void gates_at(const DeltaGatesArgs& a, uint32_t i, const Load& load, const Store& store_to) {
  const Vec16 x = add(load(a.alpha + i), load(a.bias + i));
  const Vec16 strength = sigmoid(load(a.beta + i));
  store_to(a.decay + i, exp_nonpositive(mul(load(a.rate + i), softplus(x))));
  store_to(a.strength + i, strength);
}

inline void delta_gates(const DeltaGatesArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    gates_at(
        a, i, [](const float* p) { return Vec16::load(p); },
        [](float* p, Vec16 y) { store(p, y); });
  }
  if (rest == 0) return;
  gates_at(
      a, whole, [rest](const float* p) { return Vec16::load_part(p, rest); },
      [rest](float* p, Vec16 y) { store_part(p, rest, y); });
}

}  // namespace
}  // namespace hearth
