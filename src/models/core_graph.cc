#include "models/core_graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "graph/ops/delta_net.h"
#include "graph/ops/experts.h"
#include "graph/ops/gated_conv.h"
#include "graph/ops/head_norms.h"
#include "graph/ops/latent.h"
#include "graph/ops/per_layer.h"
#include "models/axis_cutting.h"
#include "models/walk.h"

namespace hearth {
namespace {

class CoreBuilder : public BlockBuilder {
 public:
  CoreBuilder(GraphBuilder& graph, const ModelSpec& spec, const WeightTable& weights,
              uint32_t context)
      : graph_(graph), spec_(spec), weights_(weights), context_(context) {}

  // Appends the embedding, RoPE's angles and the first norm, with one barrier after all three: the
  // thread that embedded a row also norms it, and the projections are the first to read the angles.
  Reduced embed(const EmbeddingBlock& embedding, const std::optional<NormRef>& before) override {
    const auto& [token, positions, type, second_type, scale, own_norm, per_layer] = embedding;
    HEARTH_CHECK(own_norm.has_value() != before.has_value(), "one norm begins the stream");
    Bundle x = hearth::embed(
        graph_, {&weights_.matrix(token), positions ? &weights_.matrix(positions) : nullptr,
                 weights_.optional_vector(type), weights_.optional_vector(second_type), scale});
    graph_.no_barrier();
    make_angles();
    Bundle start;
    if (per_layer) {
      start = copied(graph_, "per_layer_start", x, spec_.hyper.width);
      graph_.no_barrier();
    }
    Bundle normed =
        hearth::norm(graph_, "first_norm", x, weight_of(own_norm ? *own_norm : *before));
    if (per_layer) make_per_layer_inputs(*per_layer, start);
    return {own_norm ? normed : x, normed};
  }

  Partials block(uint32_t layer, const Block& block, const Reduced& stream) override {
    graph_.set_layer(static_cast<int>(layer));
    return std::visit([&](const auto& body) { return make(layer, body, stream); }, block.body);
  }

  Reduced join(const Reduced& stream, const Partials& result, const Block& block,
               const Next& next) override {
    const BlockNorms& norms = block.norms;
    HEARTH_CHECK(!norms.after || !next.norm, "one norm follows a block");
    Join join;
    if (norms.after || next.norm) join.next = weight_of(norms.after ? *norms.after : *next.norm);
    if (norms.after) join.place = NormPlace::kAfterResidual;
    if (norms.behind) join.behind = weight_of(*norms.behind);
    if (norms.inner) join.inner = weight_of(*norms.inner);
    if (norms.outer) join.outer = weight_of(*norms.outer);
    if (next.router) join.second = weight_of(*next.router);
    join.scale = weights_.optional_vector(norms.scale);
    join.holds = block.held;
    return reduce_add_norm(graph_, "reduce", stream.x, result, join, next.rows, stream.held);
  }

  void logits(const Bundle& input, WeightId head) override {
    graph_.set_layer(-1);
    hearth::logits(graph_, input, weights_.matrix(head), spec_.logit_cap);
  }

 private:
  NormWeight weight_of(const NormRef& norm) const {
    return {.kind = norm.kind,
            .weight = &weights_.vector(norm.weight),
            .bias = weights_.optional_vector(norm.bias),
            .eps = norm.eps};
  }
  LinearMatrix matrix_of(const LinearRef& linear) const {
    return {&weights_.matrix(linear.weight), weights_.optional_vector(linear.bias)};
  }
  // Appends the product with a column-cut matrix; its bias is added when the partial sums are
  // joined.
  Partials partials_of(const char* name, const Bundle& input, const LinearRef& linear) {
    Partials partials = partial_linear(graph_, name, input, weights_.matrix(linear.weight));
    partials.bias = weights_.optional_vector(linear.bias);
    return partials;
  }

  void make_per_layer_inputs(const PerLayerInputs& of, const Bundle& start) {
    per_layer_ = linear(graph_, "per_layer_projection", start,
                        {LinearMatrix{&weights_.matrix(of.projection)}});
    const float width = static_cast<float>(spec_.hyper.width);
    per_layer_inputs(graph_, "per_layer_inputs", per_layer_,
                     {.layers = spec_.hyper.layers,
                      .length = of.length,
                      .scale = 1 / std::sqrt(width),
                      .norm = weight_of(of.norm)},
                     weights_.token_rows());
  }

  // Returns, for each group, the column of its value that holds row 0 of a replicated matrix.
  static std::vector<uint32_t> first_columns(const std::vector<std::vector<RowSlice>>& slices) {
    std::vector<uint32_t> columns;
    for (const std::vector<RowSlice>& of_group : slices) {
      columns.push_back(std::ranges::find(of_group, 0u, &RowSlice::row)->column);
    }
    return columns;
  }

  struct Angles {
    const RopeParams* rope;
    Bundle bundle;
  };

  // Appends RoPE's angles for all blocks, one node for each distinct RopeParams.
  void make_angles() {
    for (const Layer& layer : spec_.layers) {
      for (const Block& block : layer.blocks) {
        if (const auto* of = std::get_if<LatentBlock>(&block.body)) add_angles(of->rope);
        const auto* attention = std::get_if<AttentionBlock>(&block.body);
        if (attention != nullptr && attention->rope) add_angles(*attention->rope);
      }
    }
  }
  void add_angles(const RopeParams& rope) {
    if (find_angles(rope) != angles_.end()) return;
    angles_.push_back({&rope, rope_angles(graph_, make_rope_table(rope, context_))});
    graph_.no_barrier();
  }
  std::vector<Angles>::const_iterator find_angles(const RopeParams& rope) const {
    return std::ranges::find_if(angles_, [&](const Angles& of) { return *of.rope == rope; });
  }
  const Bundle& angles_of(const RopeParams& rope) const {
    const auto at = find_angles(rope);
    HEARTH_CHECK(at != angles_.end(), "the angles of every block's RoPE were made");
    return at->bundle;
  }

  AttentionShape shape_of(uint32_t layer, const AttentionBlock& block) const {
    AttentionShape shape{.layer = layer,
                         .kv_heads = block.kv_heads,
                         .group_size = block.group_size(),
                         .key_length = block.key_length,
                         .value_length = block.value_length,
                         .granule = block_granule(block.group_size(), block.value_length),
                         .window = block.window,
                         .scale = block.scale,
                         .rope = RopeLayout::kHalf,
                         .n_rot = 0,
                         .norm_eps = 0,
                         .q_norm = nullptr,
                         .k_norm = nullptr,
                         .kept = block.kept,
                         .mask = block.mask};
    if (block.rope) {
      shape.rope = block.rope->layout;
      shape.n_rot = block.rope->n_rot;
    }
    if (block.norms && block.norms->span == HeadNormSpan::kHead) {
      shape.norm_eps = block.norms->query.eps;
      shape.q_norm = &weights_.vector(block.norms->query.weight);
      shape.k_norm = weights_.optional_vector(block.norms->key.weight);
    }
    shape.temperature = block.temperature;
    shape.sinks = weights_.optional_vector(block.sinks);
    shape.gated = block.gated;
    shape.value_norm_eps = block.value_norm_eps;
    shape.values_of_keys = block.has_values_of_keys();
    shape.stores = !block.keys_of;
    if (block.keys_of) shape.layer = *block.keys_of;
    if (block.max_alibi > 0) shape.slopes = alibi_slopes(block.heads, block.max_alibi);
    return shape;
  }

  // Appends the fused product with Q, K and V. Parts that a layer lacks get slices too. Missing
  // values get those of the keys. Missing keys, in a layer that reads another layer's cache, get
  // those of the other layer's K.
  LinearOut project(const AttentionBlock& block, const Bundle& input) {
    std::vector<LinearMatrix> parts{matrix_of(block.query)};
    if (block.key.weight) parts.push_back(matrix_of(block.key));
    if (block.value.weight) parts.push_back(matrix_of(block.value));
    LinearOut qkv = linear(graph_, "attn_qkv", input, parts);
    if (block.keys_of) {
      const auto* other = spec_.block<AttentionBlock>(*block.keys_of);
      std::vector<std::vector<RowSlice>>& slices = qkv.slices.emplace_back();
      for (uint32_t g = 0; g < graph_.group_count(); ++g) {
        uint32_t column = 0;
        slices.push_back(
            row_slices(weights_.matrix(other->key.weight), graph_.plan().groups[g].share, &column));
      }
    }
    if (qkv.slices.size() == 2) qkv.slices.push_back(std::vector(qkv.slices[1]));
    return qkv;
  }

  Partials make(uint32_t layer, const AttentionBlock& block, const Reduced& stream) {
    const Bundle& input = stream.normed;
    LinearOut qkv = project(block, input);
    const AttentionShape shape = shape_of(layer, block);
    if (block.norms && block.norms->span == HeadNormSpan::kRow) {
      whole_head_norms(graph_, "qk_norm", qkv, shape, weight_of(block.norms->query),
                       weight_of(block.norms->key));
    }
    const Bundle angles = block.rope ? angles_of(*block.rope) : Bundle{};
    Bundle kv = rope_and_store(graph_, "rope_kv", qkv, angles, shape);
    Bundle heads =
        attention(graph_, "attention", qkv, kv, shape, weights_.matrix(block.output.weight));
    return partials_of("attn_output", heads, block.output);
  }

  // Fuses the down-projections to low-rank queries and to latents into one product, since they are
  // small. Without low-rank queries the query matrix is large, and reads the stream's norm by
  // itself.
  Partials make(uint32_t layer, const LatentBlock& block, const Reduced& stream) {
    const Bundle& input = stream.normed;
    const LatentShape shape{.layer = layer,
                            .kv_lora_rank = block.kv_lora_rank,
                            .rope_length = block.rope.n_rot,
                            .nope_length = block.key_length - block.rope.n_rot,
                            .value_length = block.value_length,
                            .scale = block.scale,
                            .rope = block.rope.layout,
                            .latent_norm = weight_of(block.latent_norm)};
    const LatentMatrices matrices{weights_.matrix(block.query), weights_.matrix(block.key_up),
                                  weights_.matrix(block.value_up), weights_.matrix(block.output)};
    const Bundle& angles = angles_of(block.rope);
    std::vector<LinearMatrix> down;
    std::optional<NormWeight> query_norm;
    if (block.query_down) {
      down.push_back({&weights_.matrix(block.query_down)});
      query_norm = weight_of(*block.query_norm);
    }
    down.push_back({&weights_.matrix(block.latent_down)});
    LinearOut low = linear(graph_, "attn_down", input, down);
    Bundle low_queries = latent_store(graph_, "latent_kv", low, down.size() - 1, angles, shape,
                                      query_norm ? &*query_norm : nullptr);
    Bundle queries =
        latent_queries(graph_, "attn_q", query_norm ? low_queries : input, angles, shape, matrices);
    latent_expanded_attention(graph_, "attention_expanded", queries, shape, matrices);
    graph_.no_barrier();
    Bundle mixes = latent_attention(graph_, "attention", queries, shape, matrices);
    Bundle heads = latent_values(graph_, "attn_values", mixes, queries, shape, matrices);
    return partials_of("attn_output", heads, {block.output, {}});
  }

  Partials make(uint32_t layer, const DeltaBlock& block, const Reduced& stream) {
    const Bundle& input = stream.normed;
    auto all = [&](const std::vector<WeightId>& ids) {
      std::vector<LinearMatrix> matrices;
      for (WeightId id : ids) matrices.push_back({&weights_.matrix(id)});
      return matrices;
    };
    const DeltaShape shape{.layer = layer,
                           .heads = block.heads,
                           .length = block.length,
                           .taps = block.taps,
                           .norm = weight_of(block.norm),
                           .conv = &weights_.vector(block.conv),
                           .bias = &weights_.vector(block.bias),
                           .rate = &weights_.vector(block.rate),
                           .both_in_alpha = block.beta.empty()};
    const DeltaMatrices matrices{{&weights_.matrix(block.query)},
                                 {&weights_.matrix(block.key)},
                                 all(block.value),
                                 all(block.gate),
                                 all(block.alpha),
                                 all(block.beta)};
    const Bundle heads =
        delta_net(graph_, "delta", input, matrices, shape, weights_.matrix(block.output));
    return partials_of("delta_output", heads, {block.output, {}});
  }

  Partials make(uint32_t layer, const ShortConvBlock& block, const Reduced& stream) {
    const ConvMatrices matrices{{&weights_.matrix(block.before)},
                                {&weights_.matrix(block.after)},
                                {&weights_.matrix(block.input)}};
    const ConvShape shape{layer, block.taps, &weights_.vector(block.conv)};
    const Bundle mixed =
        gated_conv(graph_, "conv", stream.normed, matrices, shape, weights_.matrix(block.output));
    return partials_of("conv_output", mixed, {block.output, {}});
  }

  Partials make(uint32_t, const FeedForwardBlock& block, const Reduced& stream) {
    const Bundle& input = stream.normed;
    const Weight& down = weights_.matrix(block.down.weight);
    const LinearMatrix up = matrix_of(block.up);
    const bool gated{block.gate.weight};
    HEARTH_CHECK(gated || block.activation == Activation::kGelu, "plain layers have GELU");
    Bundle hidden = gated ? gated_linear(graph_, "ffn_gate_up", input, matrix_of(block.gate), up,
                                         down, block.activation)
                          : gelu_linear(graph_, "ffn_up", input, up, down);
    return partials_of("ffn_down", hidden, block.down);
  }

  Partials make(uint32_t, const ExpertsBlock& block, const Reduced& stream) {
    const Bundle& input = stream.normed;
    auto weights_of = [&](const ExpertsBlock::Expert& expert) -> ExpertWeights {
      return {&weights_.matrix(expert.gate), &weights_.matrix(expert.up),
              &weights_.matrix(expert.down)};
    };
    ExpertLayer of;
    of.rule = block.rule;
    of.bias = weights_.optional_vector(block.bias);
    of.scales = weights_.optional_vector(block.scales);
    of.activation = block.activation;
    of.gate_bias = weights_.optional_vector(block.gate_bias);
    of.up_bias = weights_.optional_vector(block.up_bias);
    of.down_bias = weights_.optional_vector(block.down_bias);
    for (const ExpertsBlock::Expert& expert : block.experts) {
      of.experts.push_back(weights_of(expert));
    }
    if (block.shared) of.shared = weights_of(*block.shared);
    std::vector<LinearMatrix> routers{matrix_of({block.router, block.router_bias})};
    if (block.shared_gate) routers.push_back({&weights_.matrix(block.shared_gate)});
    LinearOut logits = linear(graph_, "router", block.router_norm ? stream.second : input, routers);
    if (block.shared_gate) of.shared_gates = first_columns(logits.slices[1]);
    return experts(graph_, "experts", input, logits.bundle, of);
  }

  Partials make(uint32_t layer, const PerLayerBlock& block, const Reduced& stream) {
    const LayerColumns of = columns_of_layer(per_layer_, layer, spec_.embedding.per_layer->length);
    const Bundle hidden =
        gelu_times(graph_, "per_layer_gate", stream.normed, {&weights_.matrix(block.gate)},
                   of.bundle, of.first, weights_.matrix(block.output));
    return partials_of("per_layer_output", hidden, {block.output, {}});
  }

  GraphBuilder& graph_;
  const ModelSpec& spec_;
  const WeightTable& weights_;
  uint32_t context_;
  std::vector<Angles> angles_;
  LinearOut per_layer_;
};

}  // namespace

Graph build_graph(const ModelSpec& spec, const WeightTable& weights, const Plan& plan,
                  const Kernels& kernels, const GraphLimits& limits,
                  const ScheduleTable& schedules) {
  GraphBuilder graph(plan, kernels, std::min(limits.outputs, plan.max_rows),
                     spec.has_kv_cache() ? 0 : std::min(limits.items, plan.max_rows));
  if (const auto* experts = spec.first<ExpertsBlock>()) graph.set_chosen(experts->rule.used);
  graph.set_schedules(schedules);
  CoreBuilder builder(graph, spec, weights, limits.context);
  walk_model(spec, builder);
  return std::move(graph).finish();
}

}  // namespace hearth
