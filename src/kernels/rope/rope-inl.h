// Implements RoPE's rotation over Vec16 (kernels/simd/), for ISA files, which include it after
// their Vec16.
#pragma once

#include "kernels/rope/rope.h"

namespace hearth {
namespace {

inline Vec16Pair rotate(Vec16Pair x, Vec16 c, Vec16 s) {
  return {fma(x.even, c, negate(mul(x.odd, s))), fma(x.even, s, mul(x.odd, c))};
}

inline void rope_interleaved(const RopeArgs& a) {
  const uint32_t pairs = a.n_rot / 2, whole = pairs / 16 * 16, rest = pairs - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16Pair x = load_pairs(a.x + 2 * i);
    store_pairs(a.x + 2 * i, rotate(x, Vec16::load(a.cos + i), Vec16::load(a.sin + i)));
  }
  if (rest == 0) return;
  float tail[32] = {};
  for (uint32_t i = 0; i < 2 * rest; ++i) tail[i] = a.x[2 * whole + i];
  store_pairs(tail, rotate(load_pairs(tail), Vec16::load_part(a.cos + whole, rest),
                           Vec16::load_part(a.sin + whole, rest)));
  for (uint32_t i = 0; i < 2 * rest; ++i) a.x[2 * whole + i] = tail[i];
}

inline void rope_half(const RopeArgs& a) {
  const uint32_t pairs = a.n_rot / 2, whole = pairs / 16 * 16, rest = pairs - whole;
  float* low = a.x;
  float* high = a.x + pairs;
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16Pair y = rotate({Vec16::load(low + i), Vec16::load(high + i)}, Vec16::load(a.cos + i),
                         Vec16::load(a.sin + i));
    store(low + i, y.even);
    store(high + i, y.odd);
  }
  if (rest == 0) return;
  Vec16Pair x{Vec16::load_part(low + whole, rest), Vec16::load_part(high + whole, rest)};
  Vec16Pair y =
      rotate(x, Vec16::load_part(a.cos + whole, rest), Vec16::load_part(a.sin + whole, rest));
  store_part(low + whole, rest, y.even);
  store_part(high + whole, rest, y.odd);
}

inline void rope(const RopeArgs& a) {
  if (a.layout == RopeLayout::kInterleaved) {
    rope_interleaved(a);
  } else {
    rope_half(a);
  }
}

}  // namespace
}  // namespace hearth
