// The layers that decoder-only models are written with. A model is a function over a
// DecoderBuilder: it names its tensors and calls the layers in order; it knows nothing of nodes,
// groups or phases, and is run once for every phase's plan.
#pragma once

#include <string>

#include "graph/builder.h"
#include "graph/ops/attention.h"
#include "graph/ops/linear.h"
#include "graph/ops/reduce.h"
#include "graph/ops/rows.h"
#include "models/config.h"
#include "models/weights.h"

namespace hearth {

// The axes of a decoder and their cuts, shared by all weights on them.
struct DecoderAxes {
  AxisCuts heads;       // units: `unit_heads` query heads, all of one KV head
  AxisCuts kv;          // units: KV heads; one whose query heads several shards have is in each
  AxisCuts ffn;         // units: 32 rows
  AxisCuts vocabulary;  // units: 16 rows
  uint32_t unit_heads;
};
inline constexpr uint32_t kFfnUnit = kBlock;
inline constexpr uint32_t kVocabularyUnit = kPanelRows;

// Cut among shards in proportion to `shares`. Attention is cut by KV head, or finer, where that
// makes the busiest shard's work an eighth less: then every shard that has some of a KV head's
// query heads computes its keys and values and caches them. MHA has nothing to cut finer.
DecoderAxes cut_decoder(const DecoderConfig& config, std::span<const uint32_t> shares);

class DecoderBuilder {
 public:
  DecoderBuilder(GraphBuilder& graph, WeightStore& weights, const DecoderConfig& config,
                 const DecoderAxes& axes);

  const DecoderConfig& config() const { return config_; }

  // The tokens' embeddings and their first norm, and the angles of RoPE.
  Reduced embed(const std::string& norm_name);

  // Causal self-attention of layer `layer` up to its output projection: blk.N.attn_q, _k, _v (with
  // biases where the file has them), q/k norms where the config says so, RoPE, attn_output.
  Partials attention(uint32_t layer, const Bundle& normed);

  // blk.N.ffn_gate, ffn_up, ffn_down.
  Partials swiglu(uint32_t layer, const Bundle& normed);

  // x + the sum of the partials (+ blk.N's bias of that name where the file has one), and its norm.
  Reduced reduce(const Bundle& x, const Partials& partials, const std::string& norm_name,
                 RowSet norm_rows = RowSet::kTokens);

  // output.weight, or the embedding table where the file ties them.
  void logits(const Bundle& normed);

 private:
  NormWeight norm_weight(const std::string& name);
  AttentionShape attention_shape(uint32_t layer);

  GraphBuilder& graph_;
  WeightStore& weights_;
  const DecoderConfig& config_;
  const DecoderAxes& axes_;
  RopeTable rope_table_;
  Bundle angles_;
};

// The tensor `blk.<layer>.<name>.weight`.
std::string layer_tensor(uint32_t layer, const char* name);

// Pre-norm decoder with SwiGLU: the graph of Llama and its descendants.
void dense_decoder(DecoderBuilder& model);

}  // namespace hearth
