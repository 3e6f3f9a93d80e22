// Finds the largest element of every panel of a row: out[p] is that of x[16 p] to x[16 p + 15], or
// NaN where one of these is not finite. It is the same on every ISA level, but for the sign of a
// zero.
#pragma once

#include <cstdint>

namespace hearth {

struct PanelMaximaArgs {
  const float* x;  // [16 panels]
  uint32_t panels;
  float* out;  // [panels]
};

}  // namespace hearth
