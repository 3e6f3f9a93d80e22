// Finds the largest element of every panel of a row: out[p] is the largest of x[16 p] to x[16 p +
// 15], or NaN if one of these is not finite. Every ISA level gives the same value; only the sign of
// a zero may differ.
#pragma once

#include <cstdint>

namespace hearth {

struct PanelMaximaArgs {
  const float* x;  // [16 panels]
  uint32_t panels;
  float* out;  // [panels]
};

}  // namespace hearth
