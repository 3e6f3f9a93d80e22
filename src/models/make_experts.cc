#include <algorithm>
#include <iterator>

#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

constexpr const char* kRoutingBias = "exp_probs_b.bias";

// Returns the gating for a file whose key is missing or 0. Files of GLM-4.7-Flash (sigmoid) lack
// the key like those of DeepSeek-V2 (softmax), and have the same architecture. A file without the
// key is taken to use sigmoid if it has a bias for choosing experts, since files with such a bias
// and softmax have the key.
uint32_t unnamed_gating(const SpecBuilder& m, Gating otherwise) {
  if (otherwise == Gating::kSoftmaxOfChosen) return GgufGating::kSoftmaxOfChosen;
  bool biased = false;
  const uint32_t layers = m.hyper().layers + m.hyper().skipped_layers;
  for (uint32_t layer = 0; layer < layers && !biased; ++layer) {
    biased = m.has(layer_tensor(layer, kRoutingBias));
  }
  return biased || otherwise == Gating::kSigmoid ? GgufGating::kSigmoid : GgufGating::kSoftmax;
}

void read_groups(const ModelKeys& keys, RouterRule* rule) {
  rule->groups = std::max(1u, keys.number_or("expert_group_count", 1));
  if (rule->experts % rule->groups != 0) {
    keys.refuse("expert_group_count", rule->groups,
                fmt::format("a divisor of the {} experts", rule->experts));
  }
  rule->groups_used = rule->groups;
  if (rule->groups == 1) return;
  rule->groups_used = keys.count("expert_group_used_count", rule->groups);
  const uint32_t each = rule->experts / rule->groups;
  if (rule->groups_used * each < rule->used) {
    keys.refuse("expert_group_used_count", rule->groups_used,
                fmt::format("enough groups of {} experts to choose {} from", each, rule->used));
  }
}

RouterRule read_router(const SpecBuilder& m, const ModelKeys& keys,
                       const RouterDefaults& defaults) {
  RouterRule rule;
  rule.experts = keys.count("expert_count", kMaxExperts);
  rule.used = keys.count("expert_used_count", std::min(rule.experts, kMaxChosen));
  uint32_t gating = keys.number_or("expert_gating_func", 0);
  if (gating == 0) gating = unnamed_gating(m, defaults.gating);
  constexpr Gating kGatings[] = {Gating::kSoftmax, Gating::kSigmoid, Gating::kSoftmaxOfChosen};
  if (gating > std::size(kGatings)) {
    keys.refuse("expert_gating_func", gating,
                "1 (softmax), 2 (sigmoid) or 3 (softmax over the chosen experts)");
  }
  rule.gating = kGatings[gating - 1];
  rule.norm_topk = keys.flag_or("expert_weights_norm", defaults.norm_topk);
  // Some converters write 0 for no scale.
  rule.scale = static_cast<float>(keys.non_negative_or("expert_weights_scale", 1));
  if (rule.scale == 0) rule.scale = 1;
  read_groups(keys, &rule);
  return rule;
}

uint32_t read_expert_ffn(const ModelKeys& keys) {
  const uint32_t own = keys.number_or("expert_feed_forward_length", 0);
  if (own == 0) return keys.count("feed_forward_length", ModelMost::kFfn);
  return keys.count("expert_feed_forward_length", ModelMost::kFfn);
}

// Returns the rows of the experts that every token takes, side by side; 0: there are none.
uint32_t read_shared_ffn(const ModelKeys& keys, uint32_t ffn) {
  const uint32_t shared = keys.number_or("expert_shared_count", 0);
  if (uint64_t{shared} * ffn > ModelMost::kFfn) {
    keys.refuse("expert_shared_count", shared, fmt::format("at most {}", ModelMost::kFfn / ffn));
  }
  const uint32_t all = keys.number_or("expert_shared_feed_forward_length", shared * ffn);
  if (all > ModelMost::kFfn) {
    keys.refuse("expert_shared_feed_forward_length", all,
                fmt::format("at most {}", ModelMost::kFfn));
  }
  return all;
}

void name_experts(SpecBuilder& m, uint32_t layer, uint32_t ffn, ExpertsBlock* block) {
  const uint32_t width = m.hyper().width;
  const AxisId axis = m.axis({.name = "expert_ffn", .items = ffn, .unit_items = kBlock});
  auto name = [&](const char* of) { return layer_tensor(layer, of); };
  const std::string fused = name("ffn_gate_up_exps.weight");
  const bool in_one = m.has(fused);
  auto rows = [&](const char* member, const char* tensor, uint32_t first) {
    const MatrixPlace own{
        .member = member, .name = name(tensor), .rows = ffn, .k = width, .axis = axis};
    return in_one ? own.within(fused, first, 2 * ffn) : own;
  };
  const WeightId first = m.experts(static_cast<int>(layer), block->rule.experts,
                                   {rows("gate", "ffn_gate_exps.weight", 0),
                                    rows("up", "ffn_up_exps.weight", ffn),
                                    {.member = "down",
                                     .name = name("ffn_down_exps.weight"),
                                     .rows = width,
                                     .k = ffn,
                                     .cut = WeightCut::kColumns,
                                     .axis = axis}});
  for (uint32_t e = 0; e < block->rule.experts; ++e) {
    const uint32_t at = first.index + 3 * e;
    block->experts.push_back({{at}, {at + 1}, {at + 2}});
  }
}

// Declares the biases of all experts, [experts][rows] each, and of the router.
void name_biases(SpecBuilder& m, uint32_t layer, uint32_t ffn, ExpertsBlock* block) {
  const auto l = static_cast<int>(layer);
  const uint32_t experts = block->rule.experts;
  auto of = [&](const char* tensor, uint32_t rows) {
    return m.vector_part(l, "bias", layer_tensor(layer, tensor), experts * rows, 0,
                         {rows, experts});
  };
  block->router_bias = m.vector(l, "bias", layer_tensor(layer, "ffn_gate_inp.bias"), experts);
  block->gate_bias = of("ffn_gate_exps.bias", ffn);
  block->up_bias = of("ffn_up_exps.bias", ffn);
  block->down_bias = of("ffn_down_exps.bias", m.hyper().width);
}

// Declares a norm of the stream whose weight is ffn_gate_inp.scale.
NormRef make_router_norm(SpecBuilder& m, uint32_t layer) {
  return {.kind = NormKind::kRms,
          .weight = m.vector(static_cast<int>(layer), "router norm",
                             layer_tensor(layer, "ffn_gate_inp.scale"), m.hyper().width),
          .bias = {},
          .eps = m.epsilon()};
}

// Declares the factors of experts' weights. NVFP4 has no such factors: there the tensor holds the
// scales of whole matrices.
WeightId make_scales(SpecBuilder& m, uint32_t layer, uint32_t experts) {
  const SourceTensor& down = m.source().require_tensor(layer_tensor(layer, "ffn_down_exps.weight"));
  if (down.type_known && down.dtype == DType::kNVFP4) return {};
  return m.vector(static_cast<int>(layer), "scales", layer_tensor(layer, "ffn_down_exps.scale"),
                  experts);
}

ExpertsBlock::Expert make_shared(SpecBuilder& m, uint32_t layer, uint32_t ffn) {
  const uint32_t width = m.hyper().width;
  const AxisId axis = m.axis({.name = "shared_ffn", .items = ffn, .unit_items = kBlock});
  auto matrix = [&](const char* member, const char* name, uint32_t rows, uint32_t k,
                    WeightCut cut) {
    return m.matrix(static_cast<int>(layer),
                    {member, layer_tensor(layer, name), rows, k, cut, axis});
  };
  return {matrix("shared gate", "ffn_gate_shexp.weight", ffn, width, WeightCut::kRows),
          matrix("shared up", "ffn_up_shexp.weight", ffn, width, WeightCut::kRows),
          matrix("shared down", "ffn_down_shexp.weight", width, ffn, WeightCut::kColumns)};
}

}  // namespace

ExpertsBlock make_experts(SpecBuilder& m, uint32_t layer, const RouterDefaults& defaults,
                          const ExpertProducts& products) {
  const ModelKeys keys = m.keys(layer);
  ExpertsBlock block;
  block.rule = read_router(m, keys, defaults);
  const uint32_t ffn = read_expert_ffn(keys), shared = read_shared_ffn(keys, ffn);
  const auto l = static_cast<int>(layer);
  block.router = m.replicated(
      l,
      {"router", layer_tensor(layer, "ffn_gate_inp.weight"), block.rule.experts, m.hyper().width},
      /*widened=*/true);
  block.bias =
      m.vector_where_there(l, "router bias", layer_tensor(layer, kRoutingBias), block.rule.experts);
  name_experts(m, layer, ffn, &block);
  block.activation = products.activation;
  if (products.biases) name_biases(m, layer, ffn, &block);
  if (products.router_norm) block.router_norm = make_router_norm(m, layer);
  if (products.scales) block.scales = make_scales(m, layer, block.rule.experts);
  if (shared > 0) block.shared = make_shared(m, layer, shared);
  if (shared > 0 && products.shared_gate) {
    const std::string gate = layer_tensor(layer, "ffn_gate_inp_shexp.weight");
    block.shared_gate =
        m.replicated(l, {"shared expert's gate", gate, 1, m.hyper().width}, /*widened=*/true);
  }
  return block;
}

bool has_experts(SpecBuilder& m, uint32_t layer) {
  const ModelKeys& keys = m.keys();
  if (keys.number_or("expert_count", 0) == 0) return false;
  const uint32_t dense = keys.number_or("leading_dense_block_count", 0);
  if (dense > m.hyper().layers) {
    keys.refuse("leading_dense_block_count", dense,
                fmt::format("at most the {} layers", m.hyper().layers));
  }
  return layer >= dense;
}

SpecBuilder::Body make_swiglu_or_experts(SpecBuilder& m, uint32_t layer,
                                         const RouterDefaults& defaults,
                                         const ExpertProducts& products) {
  if (has_experts(m, layer)) return make_experts(m, layer, defaults, products);
  return make_feed_forward(m, layer, Gated::kYes, Activation::kSilu);
}

}  // namespace hearth
