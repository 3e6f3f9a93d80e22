#include "models/decoder.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {
namespace {

uint32_t units_of(uint32_t extent, uint32_t unit) { return (extent + unit - 1) / unit; }

// Query heads and the KV heads they belong to.
struct HeadCuts {
  AxisCuts heads, kv;
  uint32_t unit_heads;
};

HeadCuts cut_heads(const DecoderConfig& config, std::span<const uint32_t> shares,
                   uint32_t unit_heads) {
  uint32_t slices = config.group_size() / unit_heads;
  AxisCuts heads(config.kv_heads * slices, config.block_granule(unit_heads), shares, slices);
  return {heads, heads.widened(slices), unit_heads};
}

// The most work that a shard has for its share, in query heads: a row range of Q and a column range
// of O each. A KV head's rows of K and V are as much, and its cache as much again at the depth
// where it has their size: 1152 positions of f16 where the width is 4096 and a weight has 4.5 bits.
// Prompts are bound by arithmetic, which goes by query heads, and decode far beyond that depth by
// the cache, which goes by KV heads: this lies between.
double busiest(const HeadCuts& cuts, std::span<const uint32_t> shares) {
  double most = 0;
  for (uint32_t s = 0; s < shares.size(); ++s) {
    uint32_t work = cuts.heads.shard(s).size() * cuts.unit_heads + 2 * cuts.kv.shard(s).size();
    if (work > 0) most = std::max(most, static_cast<double>(work) / shares[s]);
  }
  return most;
}

// By KV head where that is about as good, since copies of caches take memory: a finer cut must save
// an eighth. Of 4 query heads a KV head, 2 KV heads are 6 on two of 4 shards and none on the
// others, or 4 on each; 3 are 12 and 6 on 2 shards, or 10 on each. 2 stay whole on 3 shards, of
// which one has none: with 3, 2 and 3 query heads the middle one has both KV heads, and as much
// work as 4 query heads with one.
HeadCuts cut_heads(const DecoderConfig& config, std::span<const uint32_t> shares) {
  HeadCuts best = cut_heads(config, shares, config.group_size());
  for (uint32_t heads = config.group_size() - 1; heads > 0; --heads) {
    if (config.group_size() % heads != 0) continue;
    HeadCuts finer = cut_heads(config, shares, heads);
    if (8 * busiest(finer, shares) <= 7 * busiest(best, shares)) best = finer;
  }
  return best;
}

}  // namespace

DecoderAxes cut_decoder(const DecoderConfig& config, std::span<const uint32_t> shares) {
  HeadCuts cuts = cut_heads(config, shares);
  return {cuts.heads, cuts.kv, AxisCuts(units_of(config.ffn, kFfnUnit), 1, shares),
          AxisCuts(units_of(config.vocabulary, kVocabularyUnit), 1, shares), cuts.unit_heads};
}

std::string layer_tensor(uint32_t layer, const char* name) {
  return fmt::format("blk.{}.{}.weight", layer, name);
}

DecoderBuilder::DecoderBuilder(GraphBuilder& graph, WeightStore& weights,
                               const DecoderConfig& config, const DecoderAxes& axes)
    : graph_(graph),
      weights_(weights),
      config_(config),
      axes_(axes),
      rope_table_(make_rope_table(config.rope)) {}

Reduced DecoderBuilder::embed(const std::string& norm_name) {
  const Weight& table = weights_.matrix("token_embd.weight", config_.vocabulary, config_.width,
                                        CutBy::kRows, axes_.vocabulary, kVocabularyUnit);
  // One barrier for the three: a row's norm is made by the thread that embedded it, and angles are
  // first read behind the projections.
  Bundle x = hearth::embed(graph_, table);
  graph_.no_barrier();
  angles_ = rope_angles(graph_, rope_table_);
  graph_.no_barrier();
  return {x, norm(graph_, norm_name, x, norm_weight(norm_name))};
}

NormWeight DecoderBuilder::norm_weight(const std::string& name) {
  return {.weight = &weights_.vector(name, config_.width), .eps = config_.norm_eps};
}

AttentionShape DecoderBuilder::attention_shape(uint32_t layer) {
  auto head_norm = [&](const char* name) -> const VectorWeight* {
    if (!config_.qk_norm) return nullptr;
    return &weights_.vector(layer_tensor(layer, name), config_.head_dim);
  };
  return {layer,
          config_.kv_heads,
          config_.group_size(),
          config_.head_dim,
          config_.head_dim,
          config_.block_granule(config_.group_size()),
          config_.window,
          config_.attention_scale,
          config_.rope.layout,
          config_.rope.n_rot,
          config_.norm_eps,
          head_norm("attn_q_norm"),
          head_norm("attn_k_norm")};
}

Partials DecoderBuilder::attention(uint32_t layer, const Bundle& normed) {
  graph_.set_layer(static_cast<int>(layer));
  uint32_t d = config_.head_dim, q_unit = axes_.unit_heads * d;
  uint32_t q_rows = config_.heads * d, kv_rows = config_.kv_heads * d;
  auto part = [&](const char* name, uint32_t rows, const AxisCuts& cuts,
                  uint32_t unit) -> LinearPart {
    const Weight& weight =
        weights_.matrix(layer_tensor(layer, name), rows, config_.width, CutBy::kRows, cuts, unit);
    return {&weight, weights_.vector_or_null(fmt::format("blk.{}.{}.bias", layer, name), rows)};
  };
  const Weight& output = weights_.matrix(layer_tensor(layer, "attn_output"), config_.width, q_rows,
                                         CutBy::kColumns, axes_.heads, q_unit);
  LinearOut qkv =
      linear(graph_, "attn_qkv", normed,
             {part("attn_q", q_rows, axes_.heads, q_unit), part("attn_k", kv_rows, axes_.kv, d),
              part("attn_v", kv_rows, axes_.kv, d)});
  AttentionShape shape = attention_shape(layer);
  Bundle kv = rope_and_store(graph_, "rope_kv", qkv, angles_, shape);
  Bundle heads = hearth::attention(graph_, "attention", qkv, kv, shape, output);
  Partials partials = partial_linear(graph_, "attn_output", heads, output);
  partials.bias =
      weights_.vector_or_null(fmt::format("blk.{}.attn_output.bias", layer), config_.width);
  return partials;
}

Partials DecoderBuilder::swiglu(uint32_t layer, const Bundle& normed) {
  auto rows = [&](const char* name) -> const Weight& {
    return weights_.matrix(layer_tensor(layer, name), config_.ffn, config_.width, CutBy::kRows,
                           axes_.ffn, kFfnUnit);
  };
  const Weight& down = weights_.matrix(layer_tensor(layer, "ffn_down"), config_.width, config_.ffn,
                                       CutBy::kColumns, axes_.ffn, kFfnUnit);
  Bundle hidden =
      gated_linear(graph_, "ffn_gate_up", normed, rows("ffn_gate"), rows("ffn_up"), down);
  return partial_linear(graph_, "ffn_down", hidden, down);
}

Reduced DecoderBuilder::reduce(const Bundle& x, const Partials& partials,
                               const std::string& norm_name, RowSet norm_rows) {
  return reduce_add_norm(graph_, "reduce", x, partials, norm_weight(norm_name), norm_rows);
}

void DecoderBuilder::logits(const Bundle& normed) {
  graph_.set_layer(-1);
  const char* name = weights_.has("output.weight") ? "output.weight" : "token_embd.weight";
  const Weight& head = weights_.matrix(name, config_.vocabulary, config_.width, CutBy::kRows,
                                       axes_.vocabulary, kVocabularyUnit);
  hearth::logits(graph_, normed, head);
}

void dense_decoder(DecoderBuilder& model) {
  uint32_t layers = model.config().layers;
  auto [x, normed] = model.embed(layer_tensor(0, "attn_norm"));
  for (uint32_t layer = 0; layer < layers; ++layer) {
    bool last = layer + 1 == layers;
    Partials attended = model.attention(layer, normed);
    Reduced middle = model.reduce(x, attended, layer_tensor(layer, "ffn_norm"));
    Partials fed = model.swiglu(layer, middle.normed);
    Reduced end = model.reduce(middle.x, fed,
                               last ? "output_norm.weight" : layer_tensor(layer + 1, "attn_norm"),
                               last ? RowSet::kOutputs : RowSet::kTokens);
    x = end.x;
    normed = end.normed;
  }
  model.logits(normed);
}

}  // namespace hearth
