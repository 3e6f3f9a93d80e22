// A causal convolution over the last few rows, each channel by itself (depthwise), followed by
// SiLU, over a run of rows of one sequence:
//
//   y[t][c] = sum over j < taps of weight[j][c] x[t - (taps - 1) + j][c],  out = y sigmoid(y)
//
// The state holds the taps - 1 inputs before the first row, the oldest first. The last inputs of
// the rows become the new state.
//
// The sum is one chain over ascending j: weight[0] x rounded, then fma(weight[j], x, y). SiLU is
// that of kernels/activation/activation.h. So the bits of a row depend only on its own inputs. They
// are the same however a sequence is cut into runs and the channels into calls, and on every ISA
// level. The relative error of y is that of a chain of `taps` products.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr uint32_t kMaxConvTaps = 16;

struct ShortConvArgs {
  const float* x;  // [rows][channels], x_stride floats apart
  size_t x_stride;
  const float* weight;  // [taps][channels], weight_stride floats apart
  size_t weight_stride;
  uint32_t rows;
  uint32_t channels;
  uint32_t taps;      // 1 to kMaxConvTaps
  const float* from;  // [taps - 1][channels], state_stride floats apart; or null: zeros
  float* to;          // the same, may be `from`
  size_t state_stride;
  float* out;  // [rows][channels], out_stride floats apart; not x
  size_t out_stride;
};

}  // namespace hearth
