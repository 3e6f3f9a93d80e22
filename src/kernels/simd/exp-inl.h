// Implements exp_nonpositive (kernels/simd/exp.h) over the 16 lanes of a vector, with the same bits
// in every lane. ISA files include it after their vector type.
#pragma once

#include "kernels/simd/exp.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

// Replaces x by exp(x) in all lanes of several vectors. Each step is done for all vectors before
// the next step, since with a single vector each step would have to wait for the one before.
template <typename V, size_t N>
inline void exp_nonpositive(V (&x)[N]) {
  V shifted[N], r[N], p[N];
  HEARTH_UNROLL
  for (size_t i = 0; i < N; ++i) shifted[i] = fma(x[i], V::all(kLog2E), V::all(kRoundMagic));
  HEARTH_UNROLL
  for (size_t i = 0; i < N; ++i) {
    r[i] = fma(sub(shifted[i], V::all(kRoundMagic)), V::all(-kLn2High), x[i]);
  }
  HEARTH_UNROLL
  for (size_t i = 0; i < N; ++i) {
    r[i] = fma(sub(shifted[i], V::all(kRoundMagic)), V::all(-kLn2Low), r[i]);
  }
  HEARTH_UNROLL
  for (size_t i = 0; i < N; ++i) p[i] = fma(V::all(kExp6), r[i], V::all(kExp5));
  constexpr float kFactors[] = {kExp4, kExp3, kExp2, 1.0f, 1.0f};
  for (float c : kFactors) {
    HEARTH_UNROLL
    for (size_t i = 0; i < N; ++i) p[i] = fma(p[i], r[i], V::all(c));
  }
  HEARTH_UNROLL
  for (size_t i = 0; i < N; ++i) {
    x[i] = zero_below(x[i], kExpFloor, mul(p[i], power_of_two(shifted[i])));
  }
}

template <typename V>
inline V exp_nonpositive(V x) {
  V one[1] = {x};
  exp_nonpositive(one);
  return one[0];
}

}  // namespace
}  // namespace hearth
