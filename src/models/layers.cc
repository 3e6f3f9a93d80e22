#include "models/layers.h"

#include "graph/ops/head_norms.h"
#include "graph/ops/latent.h"
#include "models/registry.h"

namespace hearth {

Layers::Layers(GraphBuilder& graph, const ModelSpec& spec, const WeightTable& weights)
    : graph_(graph), spec_(spec), weights_(weights) {}

Reduced Layers::embed(int norm_layer, WeightRole norm) {
  // One barrier for the three: a row's norm is made by the thread that embedded it, and angles are
  // first read behind the projections.
  Bundle x = hearth::embed(graph_, {&weights_.matrix(-1, WeightRole::kEmbedding),
                                    weights_.matrix_or_null(-1, WeightRole::kPositions),
                                    weights_.vector_or_null(-1, WeightRole::kTokenType)});
  graph_.no_barrier();
  if (spec_.hyper.rope.n_rot > 0) {
    angles_ = rope_angles(graph_, make_rope_table(spec_.hyper.rope));
    graph_.no_barrier();
  }
  Bundle normed = hearth::norm(graph_, "first_norm", x, norm_weight(norm_layer, norm));
  return {spec_.norm.place == NormPlace::kAfterResidual ? normed : x, normed};
}

NormWeight Layers::norm_weight(int layer, WeightRole role) const {
  const VectorWeight* bias = nullptr;
  if (spec_.norm.kind == NormKind::kLayer) bias = weights_.vector_or_null(layer, bias_of(role));
  return {.kind = spec_.norm.kind,
          .weight = &weights_.vector(layer, role),
          .bias = bias,
          .eps = spec_.hyper.norm_eps};
}

AttentionShape Layers::attention_shape(uint32_t layer) const {
  const LayerSpec& of = spec_.layers[layer];
  auto l = static_cast<int>(layer);
  AttentionShape shape{.layer = layer,
                       .kv_heads = of.kv_heads,
                       .group_size = of.group_size(),
                       .key_length = of.key_length,
                       .value_length = of.value_length,
                       .granule = block_granule(of.group_size(), of.value_length),
                       .window = of.window,
                       .scale = of.scale,
                       .rope = spec_.hyper.rope.layout,
                       .n_rot = spec_.hyper.rope.n_rot,
                       .norm_eps = spec_.hyper.norm_eps,
                       .q_norm = nullptr,
                       .k_norm = nullptr,
                       .kept = of.kept,
                       .mask = of.mask};
  if (spec_.norm.kind == NormKind::kRms) {
    shape.q_norm = weights_.vector_or_null(l, WeightRole::kQueryNorm);
    shape.k_norm = weights_.vector_or_null(l, WeightRole::kKeyNorm);
  }
  if (spec_.hyper.positions == PositionKind::kAlibi) {
    shape.slopes = alibi_slopes(of.heads, spec_.hyper.max_alibi);
  }
  return shape;
}

// The matrices that lead to queries and latents are small and stand beside each other; where there
// are no low-rank queries, that of the queries is large and reads the same.
Partials Layers::latent_attention(uint32_t layer, const Bundle& normed) {
  auto l = static_cast<int>(layer);
  const LayerSpec& of = spec_.layers[layer];
  const LatentShape shape{.layer = layer,
                          .latent_length = of.latent_length,
                          .turned_length = of.turned_length,
                          .straight_length = of.key_length - of.turned_length,
                          .value_length = of.value_length,
                          .scale = of.scale,
                          .rope = spec_.hyper.rope.layout,
                          .latent_norm = norm_weight(l, WeightRole::kLatentNorm)};
  const LatentMatrices matrices{
      weights_.matrix(l, WeightRole::kQuery), weights_.matrix(l, WeightRole::kKeyUp),
      weights_.matrix(l, WeightRole::kValueUp), weights_.matrix(l, WeightRole::kAttentionOutput)};
  std::vector<LinearMatrix> down;
  const Weight* query_down = weights_.matrix_or_null(l, WeightRole::kQueryDown);
  std::optional<NormWeight> query_norm;
  if (query_down != nullptr) {
    down.push_back({query_down});
    query_norm = norm_weight(l, WeightRole::kQueryDownNorm);
  }
  down.push_back({&weights_.matrix(l, WeightRole::kLatentDown)});
  LinearOut low = linear(graph_, "attn_down", normed, down);
  Bundle low_queries = latent_store(graph_, "latent_kv", low, down.size() - 1, angles_, shape,
                                    query_norm ? &*query_norm : nullptr);
  Bundle queries =
      latent_queries(graph_, "attn_q", query_norm ? low_queries : normed, angles_, shape, matrices);
  latent_expanded_attention(graph_, "attention_expanded", queries, shape, matrices);
  graph_.no_barrier();
  Bundle mixes = hearth::latent_attention(graph_, "attention", queries, shape, matrices);
  Bundle heads = latent_values(graph_, "attn_values", mixes, queries, shape, matrices);
  return partial_linear(graph_, "attn_output", heads, matrices.output);
}

Partials Layers::attention(uint32_t layer, const Bundle& normed) {
  auto l = static_cast<int>(layer);
  graph_.set_layer(l);
  if (spec_.layers[layer].latent_length > 0) return latent_attention(layer, normed);
  auto part = [&](WeightRole matrix, WeightRole bias) -> LinearMatrix {
    return {&weights_.matrix(l, matrix), weights_.vector_or_null(l, bias)};
  };
  LinearOut qkv = linear(graph_, "attn_qkv", normed,
                         {part(WeightRole::kQuery, WeightRole::kQueryBias),
                          part(WeightRole::kKey, WeightRole::kKeyBias),
                          part(WeightRole::kValue, WeightRole::kValueBias)});
  AttentionShape shape = attention_shape(layer);
  const bool whole = spec_.norm.kind == NormKind::kLayer &&
                     weights_.vector_or_null(l, WeightRole::kQueryNorm) != nullptr;
  if (whole) {
    whole_head_norms(graph_, "qk_norm", qkv, shape, norm_weight(l, WeightRole::kQueryNorm),
                     norm_weight(l, WeightRole::kKeyNorm));
  }
  Bundle kv = rope_and_store(graph_, "rope_kv", qkv, angles_, shape);
  const Weight& output = weights_.matrix(l, WeightRole::kAttentionOutput);
  Bundle heads = hearth::attention(graph_, "attention", qkv, kv, shape, output);
  Partials partials = partial_linear(graph_, "attn_output", heads, output);
  partials.bias = weights_.vector_or_null(l, WeightRole::kAttentionOutputBias);
  return partials;
}

Partials Layers::ffn(uint32_t layer, const Bundle& normed) {
  auto l = static_cast<int>(layer);
  const Weight& down = weights_.matrix(l, WeightRole::kDown);
  const LinearMatrix up{&weights_.matrix(l, WeightRole::kUp),
                        weights_.vector_or_null(l, WeightRole::kUpBias)};
  const Weight* gate = weights_.matrix_or_null(l, WeightRole::kGate);
  Bundle hidden = gate == nullptr
                      ? gelu_linear(graph_, "ffn_up", normed, up, down)
                      : gated_linear(graph_, "ffn_gate_up", normed,
                                     {gate, weights_.vector_or_null(l, WeightRole::kGateBias)}, up,
                                     down, spec_.activation);
  Partials partials = partial_linear(graph_, "ffn_down", hidden, down);
  partials.bias = weights_.vector_or_null(l, WeightRole::kDownBias);
  return partials;
}

Partials Layers::experts(uint32_t layer, const Bundle& normed) {
  auto l = static_cast<int>(layer);
  ExpertLayer of;
  of.rule = spec_.hyper.experts.router;
  of.bias = weights_.vector_or_null(l, WeightRole::kRouterBias);
  for (uint32_t e = 0; e < of.rule.experts; ++e) {
    of.experts.push_back({&weights_.expert_matrix(l, WeightRole::kGate, e),
                          &weights_.expert_matrix(l, WeightRole::kUp, e),
                          &weights_.expert_matrix(l, WeightRole::kDown, e)});
  }
  if (weights_.matrix_or_null(l, WeightRole::kSharedGate) != nullptr) {
    of.shared = {&weights_.matrix(l, WeightRole::kSharedGate),
                 &weights_.matrix(l, WeightRole::kSharedUp),
                 &weights_.matrix(l, WeightRole::kSharedDown)};
  }
  LinearOut logits = linear(graph_, "router", normed, {{&weights_.matrix(l, WeightRole::kRouter)}});
  return hearth::experts(graph_, "experts", normed, logits.bundle, of);
}

Reduced Layers::reduce(const Bundle& x, const Partials& partials, int norm_layer, WeightRole norm,
                       RowSet norm_rows) {
  const bool second = norm == WeightRole::kAttentionNorm &&
                      weights_.vector_or_null(norm_layer, WeightRole::kSecondNorm) != nullptr;
  Join join{.next = norm_weight(norm_layer, second ? WeightRole::kSecondNorm : norm),
            .place = spec_.norm.place};
  if (second) join.inner = norm_weight(norm_layer, norm);
  return reduce_add_norm(graph_, "reduce", x, partials, join, norm_rows);
}

void Layers::logits(const Bundle& normed) {
  graph_.set_layer(-1);
  const Weight* head = weights_.matrix_or_null(-1, WeightRole::kHead);
  hearth::logits(graph_, normed,
                 head != nullptr ? *head : weights_.matrix(-1, WeightRole::kEmbedding));
}

Graph build_graph(const ModelSpec& spec, const WeightTable& weights, const Plan& plan,
                  const Kernels& kernels, const GraphLimits& limits,
                  const ScheduleTable& schedules) {
  GraphBuilder graph(plan, kernels, std::min(limits.outputs, plan.max_rows),
                     spec.has_kv_cache() ? 0 : std::min(limits.items, plan.max_rows));
  graph.set_chosen(spec.hyper.experts.router.used);
  graph.set_schedules(schedules);
  Layers layers(graph, spec, weights);
  spec.architecture->build(layers);
  return std::move(graph).finish();
}

}  // namespace hearth
