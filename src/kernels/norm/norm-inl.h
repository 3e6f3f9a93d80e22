// Norms over Vec16 (kernels/simd/), for ISA files, which include it after their Vec16.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/norm/norm.h"

namespace hearth {
namespace {

// r of a row; NaN where the sum of squares is not finite.
inline Vec16 row_scale(Vec16 squares, uint32_t n, float eps) {
  float r = 1.0f / std::sqrt(sum(squares) / static_cast<float>(n) + eps);
  return Vec16::all(r > 0 ? r : std::numeric_limits<float>::quiet_NaN());
}

inline void rms_norm(const RmsNormArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  Vec16 squares = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16 x = Vec16::load(a.x + i);
    squares = fma(x, x, squares);
  }
  Vec16 x_rest = Vec16::load_part(a.x + whole, rest);
  squares = fma(x_rest, x_rest, squares);
  Vec16 r = row_scale(squares, a.n, a.eps);
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, mul(mul(Vec16::load(a.x + i), r), Vec16::load(a.weight + i)));
  }
  store_part(a.out + whole, rest, mul(mul(x_rest, r), Vec16::load_part(a.weight + whole, rest)));
}

inline void layer_norm(const LayerNormArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  Vec16 sums = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) sums = add(sums, Vec16::load(a.x + i));
  Vec16 x_rest = Vec16::load_part(a.x + whole, rest);
  sums = add(sums, x_rest);
  const Vec16 mean = Vec16::all(sum(sums) / static_cast<float>(a.n));
  Vec16 squares = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16 d = sub(Vec16::load(a.x + i), mean);
    squares = fma(d, d, squares);
  }
  // The lanes past the row's end have no part in the sum.
  Vec16 d_rest = keep_lanes(sub(x_rest, mean), 0, static_cast<int>(rest), Vec16::zero());
  squares = fma(d_rest, d_rest, squares);
  const Vec16 r = row_scale(squares, a.n, a.eps);
  Vec16 weight_rest = Vec16::load_part(a.weight + whole, rest);
  if (a.bias) {
    for (uint32_t i = 0; i < whole; i += 16) {
      Vec16 scaled = mul(sub(Vec16::load(a.x + i), mean), r);
      store(a.out + i, fma(scaled, Vec16::load(a.weight + i), Vec16::load(a.bias + i)));
    }
    Vec16 bias_rest = Vec16::load_part(a.bias + whole, rest);
    store_part(a.out + whole, rest, fma(mul(d_rest, r), weight_rest, bias_rest));
  } else {
    for (uint32_t i = 0; i < whole; i += 16) {
      Vec16 scaled = mul(sub(Vec16::load(a.x + i), mean), r);
      store(a.out + i, mul(scaled, Vec16::load(a.weight + i)));
    }
    store_part(a.out + whole, rest, mul(mul(d_rest, r), weight_rest));
  }
}

}  // namespace
}  // namespace hearth
