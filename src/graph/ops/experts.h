// A feed-forward layer of experts (mixture of experts) as one op. For each row x, over the experts
// e that its router chose with weights w_e:
//
//   y = sum of w_e down_e SwiGLU(gate_e x, up_e x)
//
// The op stands between two barriers: the one after the router's logits, and its own. Threads claim
// three kinds of tasks, in this order, and no thread waits for a task that is unclaimed:
//   routing      some rows' experts and weights (kernels/routing/routing.h). If rows are few, each
//                thread routes all of them by itself, which costs less than telling the others.
//   gate and up  some panels of one expert over its rows: their products, SwiGLU, and the result
//                quantised, a row for each choice. Experts with most rows come first.
//   down         some columns of the output over all experts, in ascending order: each expert's
//                product as soon as that expert's own gate and up are done, and then every row's
//                weighted sum. So no expert's sum leaves the thread's cache.
// (Fine-grained tasks with a counter per expert: OSDI'26 hybrid MoE system, section 3.5.)
//
// The numerical contract: a shard's routed experts, in ascending order, are divided into segments
// as the units of an axis are (tensor/axis_cuts.h). A row's experts within a segment are one chain
// in ascending order, and a binary tree adds the segments that have an expert of the row. A sum
// without any expert is -0, which changes no number that it is added to. A group that is smaller
// than a node takes whole segments, so a result does not depend on the groups that share an expert.
// The shared expert is a separate sum over the shards that hold a part of it, added after that tree
// (Partials::last). So threads that compute it need not know the other experts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/ops/linear.h"
#include "kernels/routing/routing.h"

namespace hearth {

// One expert: gate and up are cut by rows and down by columns on one axis, or all three lie whole
// on one shard. The gate and the up of one expert may share an order of columns (Weight::order),
// which may differ between experts. The columns of down are in the order of the rows of gate and
// up.
struct ExpertWeights {
  const Weight *gate, *up, *down;
};

struct ExpertLayer {
  std::vector<ExpertWeights> experts;  // one type each for all gates, ups and downs
  ExpertWeights shared = {};           // taken by every row with weight 1; null if there is none
  RouterRule rule;
  const VectorWeight* bias = nullptr;  // added to scores only to choose experts; [experts] or null
  Activation activation = Activation::kSilu;
  // Biases of the routed experts, [experts][rows] each; or null. The first shard that has columns
  // of down adds its bias.
  const VectorWeight *gate_bias = nullptr, *up_bias = nullptr, *down_bias = nullptr;
  // The column of the logits, by group, whose sigmoid is the shared expert's weight; empty: its
  // weight is 1.
  std::vector<uint32_t> shared_gates = {};
  // Factors of the routed experts' weights, [experts]; or null.
  const VectorWeight* scales = nullptr;
};

// Returns an axis whose units are experts: a shard has one unit for each expert that it holds. Sums
// over experts follow the axis's segments.
AxisCuts expert_cuts(std::span<const ExpertWeights> experts);

// Appends the experts' op and returns its partial sums. `logits`: the router's, [rows][experts].
// Parallel.
Partials experts(GraphBuilder& builder, std::string name, const Bundle& x, const Bundle& logits,
                 const ExpertLayer& layer);

}  // namespace hearth
