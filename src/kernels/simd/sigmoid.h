// Defines the sigmoid, 1 / (1 + e^-t), which every ISA level and the reference compute to the same
// bits:
//
//   e = exp_nonpositive(-|t|), sigmoid = (t < 0 ? e : 1) / (1 + e)
//
// Its relative error is below 2.5e-7 for t > -87.3; below that it is 0. From t = 17 up it is
// exactly 1. NaN stays NaN. The vector form is kernels/simd/sigmoid-inl.h.
#pragma once

#include <cmath>

#include "kernels/simd/exp.h"

namespace hearth {

inline float sigmoid(float t) {
  const float e = exp_nonpositive(-std::fabs(t));
  return (t < 0 ? e : 1.0f) / (1.0f + e);
}

}  // namespace hearth
