// Sums of vectors over Vec16 (kernels/simd/). ISA files include it after their Vec16.
#pragma once

#include "kernels/sum/sum.h"

namespace hearth {
namespace {

inline void add_vectors(const AddVectorsArgs& a) {
  const uint32_t whole = a.n / 16 * 16, rest = a.n - whole;
  for (uint32_t i = 0; i < whole; i += 16) {
    Vec16 b = Vec16::load(a.b + i);
    if (a.c != nullptr) b = add(b, Vec16::load(a.c + i));
    store(a.out + i, add(Vec16::load(a.a + i), b));
  }
  if (rest == 0) return;
  Vec16 b = Vec16::load_part(a.b + whole, rest);
  if (a.c != nullptr) b = add(b, Vec16::load_part(a.c + whole, rest));
  store_part(a.out + whole, rest, add(Vec16::load_part(a.a + whole, rest), b));
}

inline void weighted_sum(const WeightedSumArgs& a) {
  for (uint32_t i = 0; i < a.n; i += 16) {
    Vec16 sums[kMaxSums];
    sums[0] = Vec16::zero();
    uint32_t held = 0;
    for (uint32_t t = 0; t < a.count; ++t) {
      const Vec16 weight = Vec16::all(a.weights[t]), term = Vec16::load(a.terms[t] + i);
      if (a.steps[t] & kOntoTop) {
        sums[held - 1] = fma(weight, term, sums[held - 1]);
      } else {
        sums[held++] = mul(weight, term);
      }
      for (uint8_t adds = a.steps[t] & (kOntoTop - 1); adds > 0; --adds, --held) {
        sums[held - 2] = add(sums[held - 2], sums[held - 1]);
      }
    }
    store(a.out + i, sums[0]);
  }
}

}  // namespace
}  // namespace hearth
