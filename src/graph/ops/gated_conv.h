// The short convolutions that LFM2's layers have in place of attention: with B, C and X of a row's
// projections
//
//   y[t] = C[t] sum over j < taps of weight[j] (B X)[t - (taps - 1) + j]
//
// for each channel by itself. Rows before the first are the state: the last taps - 1 products B X,
// [taps - 1][channels of the shard]. The step names its slots (StepItem).
//
// The sum is one chain over ascending j, of products that are rounded each. So a row's bits depend
// only on its own inputs, however rows are cut into steps and channels into tasks, on every ISA
// level.
#pragma once

#include <string>

#include "graph/builder.h"
#include "graph/ops/linear.h"

namespace hearth {

// Returns how many floats a channel's state has, at least 1: a layer with size 0 would count as one
// that keeps no state.
size_t conv_state_floats(uint32_t taps);

// The projections of a short convolution, row-cut on the axis of channels.
struct ConvMatrices {
  LinearMatrix before, after, input;  // B, C and X
};
struct ConvShape {
  uint32_t layer;
  uint32_t taps;
  const VectorWeight* weight;  // [taps][channels]
};

// Returns the input of the output's matrix (column-cut on the same axis). Parallel.
Bundle gated_conv(GraphBuilder& builder, const std::string& name, const Bundle& x,
                  const ConvMatrices& matrices, const ConvShape& shape, const Weight& output);

}  // namespace hearth
