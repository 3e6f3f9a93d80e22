// The kernels of gates.h over Vec16 (kernels/simd/). ISA files include it after their Vec16.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/activation/activation-inl.h"
#include "kernels/norm/norm-inl.h"
#include "kernels/recurrent/gates.h"
#include "kernels/simd/sigmoid-inl.h"

namespace hearth {
namespace {

inline Vec16 sum_of_squares(const float* x, uint32_t n) {
  const uint32_t whole = n / 16 * 16;
  Vec16 squares = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) {
    const Vec16 f = Vec16::load(x + i);
    squares = fma(f, f, squares);
  }
  const Vec16 f = Vec16::load_part(x + whole, n - whole);
  return fma(f, f, squares);
}

inline void unit_norm(const UnitNormArgs& a) {
  const float norm = std::sqrt(sum(sum_of_squares(a.x, a.n)));
  const float inverse = 1.0f / (norm < a.eps ? a.eps : norm);
  const Vec16 r = Vec16::all(inverse > 0 ? inverse : std::numeric_limits<float>::quiet_NaN());
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) store(a.out + i, mul(Vec16::load(a.x + i), r));
  store_part(a.out + whole, rest, mul(Vec16::load_part(a.x + whole, rest), r));
}

inline void gated_norm(const GatedNormArgs& a) {
  const Vec16 r = row_scale(sum_of_squares(a.x, a.n), a.n, a.eps);
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    const Vec16 normed = mul(mul(Vec16::load(a.x + i), r), Vec16::load(a.weight + i));
    store(a.out + i, mul(silu(Vec16::load(a.gate + i)), normed));
  }
  if (rest == 0) return;
  const Vec16 x = Vec16::load_part(a.x + whole, rest);
  const Vec16 normed = mul(mul(x, r), Vec16::load_part(a.weight + whole, rest));
  store_part(a.out + whole, rest, mul(silu(Vec16::load_part(a.gate + whole, rest)), normed));
}

inline void sigmoid_mul(const SigmoidMulArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, mul(Vec16::load(a.x + i), sigmoid(Vec16::load(a.gate + i))));
  }
  if (rest == 0) return;
  const Vec16 gate = Vec16::load_part(a.gate + whole, rest);
  store_part(a.out + whole, rest, mul(Vec16::load_part(a.x + whole, rest), sigmoid(gate)));
}

}  // namespace
}  // namespace hearth
