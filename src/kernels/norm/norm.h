// Norms of a row: the same bits on every ISA level. The mean and the sum of squares are summed
// alike: lane l = i % 16 has a chain over ascending i, then the 16 lanes are added by halves (l +
// l+8, then + l+4, + l+2, + l+1).
//
// RMS norm (Zhang and Sennrich 2019): out[i] = (x[i] * r) * weight[i], r = 1 / sqrt(ss / n + eps).
// ss is the sum of squares, its chain one of fma(x, x, ss).
//
// Layer norm (Ba, Kiros and Hinton 2016), in two passes and the result's: the sum of x, its chain
// one of additions, and mean = sum / n; then with d = x[i] - mean, rounded, ss = the sum of squares
// of d, its chain one of fma(d, d, ss), and r as above; out[i] = fma(d * r, weight[i], bias[i]), or
// (d * r) * weight[i] without a bias.
//
// A row whose ss overflows binary32 (|x| above 10^18) comes out as NaN, all of it (r would be 0,
// and the row zeros that look like a result). So does one that holds an infinity or a NaN.
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

struct LayerNormArgs {
  const float* x;       // [n]
  const float* weight;  // [n]
  const float* bias;    // [n] or null
  uint32_t n;
  float eps;
  float* out;  // [n], may be x
};

}  // namespace hearth
