// RMS norm over Vec16 (kernels/simd/), for ISA files, which include it after their Vec16.
#pragma once

#include <cmath>

#include "kernels/norm/norm.h"

namespace hearth {
namespace {

inline void rms_norm(const RmsNormArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  Vec16 squares = Vec16::zero();
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16 x = Vec16::load(a.x + i);
    squares = fma(x, x, squares);
  }
  Vec16 x_rest = Vec16::load_part(a.x + whole, rest);
  squares = fma(x_rest, x_rest, squares);
  Vec16 r = Vec16::all(1.0f / std::sqrt(sum(squares) / static_cast<float>(a.n) + a.eps));
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, mul(mul(Vec16::load(a.x + i), r), Vec16::load(a.weight + i)));
  }
  store_part(a.out + whole, rest, mul(mul(x_rest, r), Vec16::load_part(a.weight + whole, rest)));
}

}  // namespace
}  // namespace hearth
