// Linear layers over cut weights. If weights have an order of columns, an op before the layer
// gathers their input in that order (graph/ops/gather.h). Weights that read one input have one
// order.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/slices.h"
#include "tensor/weight.h"

namespace hearth {

// y = W x + bias for one weight of a fused layer; bias is [rows] or null.
struct LinearMatrix {
  const Weight* weight;
  const VectorWeight* bias = nullptr;
};

inline std::vector<const Weight*> weights_of(const std::vector<LinearMatrix>& parts) {
  std::vector<const Weight*> weights;
  for (const LinearMatrix& part : parts) weights.push_back(part.weight);
  return weights;
}

// Returns the input of parts that read x: x itself, or x in the order of columns of all parts.
Bundle shared_input(GraphBuilder& builder, const std::string& name, const Bundle& x,
                    const std::vector<LinearMatrix>& parts);

// The outputs of row-cut weights that read the same input, side by side in one f32 value per group.
// slices[part][group] says where each part's rows stand.
struct LinearOut {
  Bundle bundle;
  std::vector<std::vector<std::vector<RowSlice>>> slices;
};

// Appends the fused linear layer. Parallel: every group computes its rows of every part.
LinearOut linear(GraphBuilder& builder, std::string name, const Bundle& x,
                 const std::vector<LinearMatrix>& parts);

// The activation function of a feed-forward layer (kernels/activation/activation.h).
enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh, kClampedSwiglu };

// Returns h = activation(gate x + bias) * (up x + bias), which is SwiGLU or GEGLU. kClampedSwiglu
// is SwiGLU with limits on both factors. h has the format and the columns that `down` reads. gate
// and up are row-cut and down column-cut on the same axis. Parallel.
Bundle gated_linear(GraphBuilder& builder, std::string name, const Bundle& x,
                    const LinearMatrix& gate, const LinearMatrix& up, const Weight& down,
                    Activation activation);

// Returns h = gelu(up x + bias), otherwise like gated_linear().
Bundle gelu_linear(GraphBuilder& builder, std::string name, const Bundle& x, const LinearMatrix& up,
                   const Weight& down);

// Returns h = gelu_tanh(gate x) * t, otherwise like gated_linear(). t is a range of columns of
// `times`, a value that every group has in full: the columns for the gate's rows begin at column
// first[g].
Bundle gelu_times(GraphBuilder& builder, std::string name, const Bundle& x,
                  const LinearMatrix& gate, const Bundle& times, const std::vector<uint32_t>& first,
                  const Weight& down);

// Adds a value for the input of a column-cut weight: in each group the columns of its share, padded
// to blocks.
Bundle column_values(GraphBuilder& builder, const Weight& weight);

// Partial sums over an axis: `pieces` in the order of all groups, `bundle.values[i]` of the group
// that computes piece i. f32 [rows][width padded to panels].
struct PartialTree {
  std::vector<Piece> pieces;
  Bundle bundle;
  AxisCuts cuts;  // whose segments the pieces cover
};

// A block's result in parts: (sum of `tree`) + (sum of `last`, if there is one) + bias.
struct Partials {
  PartialTree tree;
  uint32_t width;                      // of the sum
  const VectorWeight* bias = nullptr;  // [width] or null
  std::optional<PartialTree> last = {};
};
// The values of all parts, and the order in which they are added (graph/slices.h), without the
// bias.
struct PartialSum {
  std::vector<ValueId> values;
  std::vector<int32_t> program;
};
PartialSum sum_of_parts(const Partials& partials);

// Returns the partial sums of a column-cut weight.
Partials partial_linear(GraphBuilder& builder, std::string name, const Bundle& x,
                        const Weight& weight);

}  // namespace hearth
