// Implements sums of vectors over Vec16 (kernels/simd/), for ISA files, which include it after
// their Vec16.
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

}  // namespace
}  // namespace hearth
