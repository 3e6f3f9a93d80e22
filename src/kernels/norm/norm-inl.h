// Norms over Vec16 (kernels/simd/). ISA files include it after their Vec16.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/norm/norm.h"

namespace hearth {
namespace {

// Returns the factor r of a row (norm.h); NaN if the sum of squares is not finite.
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

inline float mean_of(const float* x, uint32_t n) {
  const uint32_t whole = n / 16 * 16;
  Vec16 sums = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) sums = add(sums, Vec16::load(x + i));
  sums = add(sums, Vec16::load_part(x + whole, n - whole));
  return sum(sums) / static_cast<float>(n);
}

// Returns the chains of the sum of squares of x[i] - mean.
inline Vec16 squares_of(const float* x, uint32_t n, Vec16 mean) {
  const uint32_t whole = n / 16 * 16, rest = n - whole;
  Vec16 squares = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16 d = sub(Vec16::load(x + i), mean);
    squares = fma(d, d, squares);
  }
  // The lanes behind the row's end must not take part in the sum.
  Vec16 d_rest = sub(Vec16::load_part(x + whole, rest), mean);
  d_rest = keep_lanes(d_rest, 0, static_cast<int>(rest), Vec16::zero());
  return fma(d_rest, d_rest, squares);
}

inline void norm_by(const NormByArgs& a, Vec16 mean, Vec16 r) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  const Vec16 rest_scaled = mul(sub(Vec16::load_part(a.x + whole, rest), mean), r);
  const Vec16 weight_rest = Vec16::load_part(a.weight + whole, rest);
  if (a.bias) {
    for (uint32_t i = 0; i < whole; i += 16) {
      Vec16 scaled = mul(sub(Vec16::load(a.x + i), mean), r);
      store(a.out + i, fma(scaled, Vec16::load(a.weight + i), Vec16::load(a.bias + i)));
    }
    Vec16 bias_rest = Vec16::load_part(a.bias + whole, rest);
    store_part(a.out + whole, rest, fma(rest_scaled, weight_rest, bias_rest));
  } else {
    for (uint32_t i = 0; i < whole; i += 16) {
      Vec16 scaled = mul(sub(Vec16::load(a.x + i), mean), r);
      store(a.out + i, mul(scaled, Vec16::load(a.weight + i)));
    }
    store_part(a.out + whole, rest, mul(rest_scaled, weight_rest));
  }
}

inline void layer_norm(const LayerNormArgs& a) {
  const Vec16 mean = Vec16::all(mean_of(a.x, a.n));
  const Vec16 r = row_scale(squares_of(a.x, a.n, mean), a.n, a.eps);
  norm_by({a.x, a.weight, a.bias, a.n, 0, 0, a.out}, mean, r);
}

inline void head_moments(const HeadMomentsArgs& a) {
  const float mean = a.centred ? mean_of(a.x, a.n) : 0;
  *a.out = {mean, sum(squares_of(a.x, a.n, Vec16::all(mean)))};
}

inline void norm_by(const NormByArgs& a) { norm_by(a, Vec16::all(a.mean), Vec16::all(a.r)); }

}  // namespace
}  // namespace hearth
