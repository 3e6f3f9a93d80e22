// exp_nonpositive (kernels/simd/exp.h) of the 16 lanes of a vector, the same bits in every lane.
// For ISA files, which include it after their vector type.
#pragma once

#include "kernels/simd/exp.h"

namespace hearth {
namespace {

template <typename V>
inline V exp_nonpositive(V x) {
  V shifted = fma(x, V::all(kLog2E), V::all(kRoundMagic));
  V n = sub(shifted, V::all(kRoundMagic));
  V r = fma(n, V::all(-kLn2High), x);
  r = fma(n, V::all(-kLn2Low), r);
  V p = fma(V::all(kExp6), r, V::all(kExp5));
  p = fma(p, r, V::all(kExp4));
  p = fma(p, r, V::all(kExp3));
  p = fma(p, r, V::all(kExp2));
  p = fma(p, r, V::all(1.0f));
  p = fma(p, r, V::all(1.0f));
  return zero_below(x, kExpFloor, mul(p, power_of_two(shifted)));
}

}  // namespace
}  // namespace hearth
