// Linear layers over cut weights. Where weights have an order of columns, an op before the layer
// gathers its input in it (graph/ops/gather.h): weights that read one input have the same.
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

// Returns the input of parts that read x: x, or x in the order that all of them have.
Bundle shared_input(GraphBuilder& builder, const std::string& name, const Bundle& x,
                    const std::vector<LinearMatrix>& parts);

// The outputs of row-cut weights that read the same input, side by side in one value per group:
// slices[part][group] says where. f32.
struct LinearOut {
  Bundle bundle;
  std::vector<std::vector<std::vector<RowSlice>>> slices;
};

// Appends the fused linear layer. Parallel: every group computes its rows of every part.
LinearOut linear(GraphBuilder& builder, std::string name, const Bundle& x,
                 const std::vector<LinearMatrix>& parts);

// The activation function of a feed-forward layer (kernels/activation/activation.h).
enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh, kClampedSwiglu };

// SwiGLU or GEGLU: h = activation(gate x + bias) * (up x + bias), with limits what SwiGLU with
// limits makes of the two, in the format and the columns that `down` reads. gate and up are row-cut
// and down column-cut on the same axis. Parallel.
Bundle gated_linear(GraphBuilder& builder, std::string name, const Bundle& x,
                    const LinearMatrix& gate, const LinearMatrix& up, const Weight& down,
                    Activation activation);

// h = gelu(up x + bias), otherwise as above.
Bundle gelu_linear(GraphBuilder& builder, std::string name, const Bundle& x, const LinearMatrix& up,
                   const Weight& down);

// h = gelu(gate x), by tanh, times columns of a value that every group has, from `first[g]` on
// those of the gate's rows; otherwise as above.
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

// A block's result in parts: the sum of a tree, to which that of `last` is added where there is
// one, and then the bias.
struct Partials {
  PartialTree tree;
  uint32_t width;                      // of the sum
  const VectorWeight* bias = nullptr;  // [width] or null
  std::optional<PartialTree> last = {};
};
// The values of all parts, and the order in which they are added (graph/slices.h) but for the bias.
struct PartialSum {
  std::vector<ValueId> values;
  std::vector<int32_t> program;
};
PartialSum sum_of_parts(const Partials& partials);

// Returns the partial sums of a column-cut weight.
Partials partial_linear(GraphBuilder& builder, std::string name, const Bundle& x,
                        const Weight& weight);

}  // namespace hearth
