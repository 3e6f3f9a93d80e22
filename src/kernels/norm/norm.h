// RMS norm (Zhang and Sennrich 2019): out[i] = (x[i] * r) * weight[i], r = 1 / sqrt(ss / n + eps).
// ss, the sum of squares: lane l = i % 16 has a chain of fma over ascending i, then the 16 lanes
// are added by halves (l + l+8, then + l+4, + l+2, + l+1). The same bits on every ISA level. A row
// whose sum of squares overflows binary32 (|x| above 10^18) comes out as zeros.
#pragma once

#include <cstdint>

namespace hearth {

struct RmsNormArgs {
  const float* x;       // [n]
  const float* weight;  // [n]
  uint32_t n;
  float eps;
  float* out;  // [n], may be x
};
using RmsNormFn = void (*)(const RmsNormArgs&);

}  // namespace hearth
