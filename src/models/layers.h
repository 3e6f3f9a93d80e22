// The layers that models are written with. A model's graph is a function over Layers: it calls them
// in order and declares nothing; it knows nothing of nodes, groups or phases, and is run once for
// every phase's plan. Weights are those that the architecture described, found by layer and role.
#pragma once

#include "graph/builder.h"
#include "graph/ops/attention.h"
#include "graph/ops/experts.h"
#include "graph/ops/linear.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rows.h"
#include "models/model_spec.h"
#include "models/weight_table.h"

namespace hearth {

class Layers {
 public:
  // References must outlive the graph's making; the table outlives the graph.
  Layers(GraphBuilder& graph, const ModelSpec& spec, const WeightTable& weights);

  const ModelSpec& spec() const { return spec_; }
  uint32_t count() const { return static_cast<uint32_t>(spec_.layers.size()); }

  // The tokens' embeddings, with those of positions and token types where there are some, and the
  // norm of them that the first layer reads, and RoPE's angles.
  Reduced embed(int norm_layer, WeightRole norm);
  // Self-attention of layer `layer` up to its output projection: Q, K and V (with biases where
  // there are some), q/k norms where there are some, RoPE or ALiBi, output projection.
  Partials attention(uint32_t layer, const Bundle& normed);
  // Up and down of the layer with the model's activation, and the gate where there is one.
  Partials ffn(uint32_t layer, const Bundle& normed);
  // The layer's experts, and the shared one where there is one.
  Partials experts(uint32_t layer, const Bundle& normed);
  // x + the sum of the partials (+ their bias where there is one), and its norm; behind attention
  // also the norm of x plus that, where the layer has a second one.
  Reduced reduce(const Bundle& x, const Partials& partials, int norm_layer, WeightRole norm,
                 RowSet norm_rows = RowSet::kTokens);
  // The logits of the step's output rows.
  void logits(const Bundle& normed);

 private:
  NormWeight norm_weight(int layer, WeightRole role) const;
  AttentionShape attention_shape(uint32_t layer) const;
  Partials latent_attention(uint32_t layer, const Bundle& normed);

  GraphBuilder& graph_;
  const ModelSpec& spec_;
  const WeightTable& weights_;
  Bundle angles_;
};

// The most that a step may have besides the plan's rows: output rows, and items, which count where
// keys and values are kept for the step alone.
struct GraphLimits {
  uint32_t outputs = 1, items = 1;
};

// Makes the graph of a model under a plan, of the architecture's layers. It reads the weights when
// it runs, so they may be packed later. The schedules are on the menus of the kernels.
Graph build_graph(const ModelSpec& spec, const WeightTable& weights, const Plan& plan,
                  const Kernels& kernels, const GraphLimits& limits,
                  const ScheduleTable& schedules = {});

}  // namespace hearth
