// Implements SiLU times up over Vec16 (kernels/simd/), for ISA files, which include it after their
// Vec16.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/simd/exp-inl.h"

namespace hearth {
namespace {

inline Vec16 silu(Vec16 g) {
  Vec16 e = exp_nonpositive(negate(absolute(g)));
  Vec16 one = Vec16::all(1.0f);
  Vec16 sigmoid = div(select_below(g, 0.0f, e, one), add(one, e));
  return mul(max(Vec16::all(kSiluFloor), g), sigmoid);
}

inline void silu_mul(const SiluMulArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    store(a.out + i, mul(silu(Vec16::load(a.gate + i)), Vec16::load(a.up + i)));
  }
  store_part(
      a.out + whole, rest,
      mul(silu(Vec16::load_part(a.gate + whole, rest)), Vec16::load_part(a.up + whole, rest)));
}

}  // namespace
}  // namespace hearth
