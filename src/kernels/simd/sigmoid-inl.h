// Implements the sigmoid (kernels/simd/sigmoid.h) over Vec16. ISA files include it after their
// vector type.
#pragma once

#include "kernels/simd/exp-inl.h"

namespace hearth {
namespace {

inline Vec16 sigmoid(Vec16 t) {
  const Vec16 e = exp_nonpositive(negate(absolute(t))), one = Vec16::all(1.0f);
  return div(select_below(t, 0.0f, e, one), add(one, e));
}

}  // namespace
}  // namespace hearth
