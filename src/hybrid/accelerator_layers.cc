#include "hybrid/accelerator_layers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/round_up.h"
#include "graph/ops/rows.h"
#include "graph/slices.h"
#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

// Says why neither kind of pass computes this attention; empty: both can.
std::string why_not(const AttentionBlock& attention) {
  if (attention.sinks) return "attention with sinks is not computed on a GPU yet";
  if (attention.gated) return "gates of heads are not computed on a GPU yet";
  if (attention.temperature.growth != 0) {
    return "queries with a temperature are not computed on a GPU yet";
  }
  if (attention.value_norm_eps > 0) return "norms of values are not computed on a GPU yet";
  if (attention.keys_of || attention.has_values_of_keys()) {
    return "attention without keys or values of its own is not computed on a GPU yet";
  }
  return "";
}

std::string why_not(const ExpertsBlock& experts) {
  if (experts.gate_bias || experts.up_bias || experts.down_bias) {
    return "biases of experts are not computed on a GPU yet";
  }
  if (experts.scales) return "scales of experts' weights are not computed on a GPU yet";
  if (experts.shared_gate) return "gates of shared experts are not computed on a GPU yet";
  if (experts.router_norm) return "routers with a norm of their own are not computed on a GPU yet";
  return "";
}

std::string why_not(const Block& block) {
  if (block.held || block.norms.outer) {
    return "parallel blocks (attention beside feed-forward) are not supported on a GPU yet";
  }
  if (block.norms.scale) return "layers whose result is scaled are not supported on a GPU yet";
  return "";
}

std::string why_not(const WeightSpec& weight) {
  // Every node has a copy of these weights. A pass uses just one of the copies.
  constexpr std::string_view kOneOfCopies[] = {"router", "q_a", "kv_a"};
  if (weight.input_order) {
    return "weights whose columns are reordered are not computed on a GPU yet";
  }
  if (weight.cut == WeightCut::kReplicated &&
      std::ranges::count(kOneOfCopies, weight.member) == 0) {
    return "weights that every node has a copy of are not computed on a GPU yet";
  }
  return "";
}

// Says why a pass does not compute the block's activation; empty: it does, or the block has none.
std::string why_not_activated(const Block& block) {
  const auto* feed_forward = std::get_if<FeedForwardBlock>(&block.body);
  const auto* experts = std::get_if<ExpertsBlock>(&block.body);
  const bool limits =
      (feed_forward != nullptr && feed_forward->activation == Activation::kClampedSwiglu) ||
      (experts != nullptr && experts->activation == Activation::kClampedSwiglu);
  return limits ? "SwiGLU with limits is not computed on a GPU yet" : "";
}

// Says why a pass cannot compute all blocks of the model; empty: it can. `why_kept` says what is
// wrong with the mask of an attention and with what it keeps from step to step. `takes` tells which
// weights the pass uses.
std::string why_not_computed(const ModelSpec& spec, bool prefills, const char* why_others,
                             const std::function<std::string(const AttentionBlock&)>& why_kept,
                             const std::function<bool(const WeightSpec&)>& takes) {
  for (const Layer& layer : spec.layers) {
    for (const Block& block : layer.blocks) {
      const auto* attention = std::get_if<AttentionBlock>(&block.body);
      const auto* experts = std::get_if<ExpertsBlock>(&block.body);
      const auto* latents = std::get_if<LatentBlock>(&block.body);
      if (attention == nullptr && !(prefills && (experts != nullptr || latents != nullptr)) &&
          !std::holds_alternative<FeedForwardBlock>(block.body)) {
        return why_others;
      }
      for (const std::string& why : {why_not_activated(block), why_not(block)}) {
        if (!why.empty()) return why;
      }
      if (experts != nullptr) {
        if (const std::string why = why_not(*experts); !why.empty()) return why;
      }
      if (attention == nullptr) continue;
      for (const std::string& why : {why_kept(*attention), why_not(*attention)}) {
        if (!why.empty()) return why;
      }
    }
  }
  for (const WeightSpec& weight : spec.weights) {
    const std::string why = takes(weight) ? why_not(weight) : "";
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string why_no_pass(const ModelSpec& spec) {
  return why_not_computed(
      spec, false, "only attention and feed-forward layers are computed on a GPU yet",
      [](const AttentionBlock& of) {
        return of.kept == KvKept::kCached ? "models with a KV cache cannot embed on a GPU yet" : "";
      },
      [](const WeightSpec&) { return true; });
}

bool in_a_layer(const WeightSpec& weight) { return weight.layer >= 0; }

bool takes_bf16(const WeightSpec& weight) {
  return weight.is_matrix() && act_format_for(weight.packed.kind) == ActFormat::kBF16;
}

bool layers_take_bf16(const ModelSpec& spec) {
  return std::ranges::any_of(spec.weights,
                             [](const WeightSpec& of) { return in_a_layer(of) && takes_bf16(of); });
}

std::string why_no_prefill(const ModelSpec& spec) {
  return why_not_computed(
      spec, true,
      "only models of attention, feed-forward layers and experts can be streamed through a GPU "
      "yet, not those with recurrent layers",
      [](const AttentionBlock& of) {
        if (of.kept != KvKept::kCached) return "the model has no KV cache to fill";
        return of.max_alibi > 0 || of.mask != Mask::kCausal
                   ? "only causal attention without ALiBi is streamed through a GPU yet"
                   : "";
      },
      in_a_layer);
}

bool pass_has_own_bits(const ModelSpec& spec, Isa isa) {
  return multiplies_bf16(isa) && layers_take_bf16(spec);
}

GateKind AcceleratorLayers::gate_kind(Activation activation) {
  if (activation == Activation::kSilu) return GateKind::kSilu;
  return activation == Activation::kGelu ? GateKind::kGelu : GateKind::kGeluTanh;
}

AcceleratorLayers::AcceleratorLayers(const PassWeights& weights, uint32_t context,
                                     const StepView& step, PassCommands* commands,
                                     const PrefillPages* pages)
    : weights_(weights), context_(context), step_(step), commands_(*commands), pages_(pages) {
  HEARTH_CHECK(step.logit_rows == 0 && step.later_rows == 0, "a pass gives no logits");
}

ValueId AcceleratorLayers::add_value(const FloatRows& rows, uint32_t width) {
  values_.push_back({rows, width});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId AcceleratorLayers::add_value(uint32_t width) {
  const uint64_t stride = round_up(width, kPanelRows);
  return add_value({commands_.value(stride * step_.rows() * sizeof(float)), stride}, width);
}

bool AcceleratorLayers::bring(ValueId x, ActFormat format) {
  Value& value = values_[x];
  const auto [at, fresh] = value.formats.try_emplace(format);
  if (!fresh) return true;
  at->second = {commands_.value(act_bytes(format, step_.rows(), value.width)), format, step_.rows(),
                value.width};
  commands_.add(QuantizeCall{value.rows, step_.rows(), value.width, at->second});
  return false;
}

FloatRows AcceleratorLayers::head_rows(ValueId x, uint32_t head, uint32_t length) const {
  FloatRows rows = values_[x].rows;
  rows.at = rows.at + uint64_t{head} * length * sizeof(float);
  return rows;
}

AcceleratorLayers::Product AcceleratorLayers::product(ValueId x, const Weight& weight, uint32_t s) {
  const PackSpec& spec = weight.shards[s].spec;
  const ActFormat format = act_format_for(spec.kind);
  const bool fresh = !bring(x, format);
  const ValueId out = add_value(spec.rows);
  const ShardPlace& place = weights_.shard(weight, s);
  return {{.spec = spec,
           .codes = place.codes,
           .scales = place.scales,
           .panels = spec.panels(),
           .block1 = spec.blocks(),
           .a = values_[x].formats.at(format),
           .m = step_.rows(),
           .out = values_[out].rows},
          out,
          fresh};
}

void AcceleratorLayers::add_bias(const LinearRef& by, uint32_t s, ValueId out, bool* ordered) {
  const Place bias = weights_.vector(weights_.model().weights().optional_vector(by.bias));
  if (!bias) return;
  const Shard& shard = weights_.model().weights().matrix(by.weight).shards[s];
  const FloatRows rows = values_[out].rows;
  commands_.add(AddCall{.a = rows,
                        .b = {bias + shard.row0 * sizeof(float), 0},
                        .rows = step_.rows(),
                        .n = shard.spec.rows,
                        .out = rows},
                std::exchange(*ordered, false));
}

ValueId AcceleratorLayers::linear(ValueId x, const LinearRef& by, uint32_t s, bool ordered) {
  Product of = product(x, weights_.model().weights().matrix(by.weight), s);
  commands_.add(std::move(of.call), ordered || of.fresh);
  return of.out;
}

Partials AcceleratorLayers::partials_of(const LinearRef& by) const {
  const WeightTable& table = weights_.model().weights();
  const Weight& weight = table.matrix(by.weight);
  return {{{}, {}, *weight.cuts}, weight.rows, table.optional_vector(by.bias)};
}

void AcceleratorLayers::add_partial(Partials* partials, ValueId x, const Weight& weight,
                                    uint32_t s) {
  const auto segments = static_cast<uint32_t>(weight.cuts->segments(s).size());
  HEARTH_CHECK(values_[x].width == weight.shards[s].spec.k,
               "a shard's columns are multiplied with");
  Product of = product(x, weight, s);
  of.call.block0 = segment_blocks(weight, s, 0).begin;
  of.call.block1 = segment_blocks(weight, s, segments - 1).end;
  for (uint32_t i = 1; i < segments; ++i) {
    of.call.cuts.push_back(segment_blocks(weight, s, i).begin);
  }
  commands_.add(std::move(of.call));
  partials->tree.pieces.push_back({s, {0, segments}});
  partials->tree.bundle.values.push_back(of.out);
}

// Looks up rows of a table. Each shard writes the rows that it has.
ValueId AcceleratorLayers::table_rows(const Weight& table, Place rows_of, float scale) {
  const ValueId out = add_value(table.k);
  bool first = true;
  for (uint32_t s = 0; s < table.shards.size(); ++s) {
    const Shard& shard = table.shards[s];
    if (shard.spec.rows == 0) continue;
    const ShardPlace& place = weights_.shard(table, s);
    commands_.add(TableCall{.spec = shard.spec,
                            .codes = place.codes,
                            .scales = place.scales,
                            .row0 = shard.row0,
                            .rows_of = rows_of,
                            .rows = step_.rows(),
                            .scale = scale,
                            .keep = !std::exchange(first, false),
                            .out = values_[out].rows});
  }
  return out;
}

// Adds the embeddings of the rows' types. Neighbouring rows of one type need only one call.
void AcceleratorLayers::add_types(const EmbeddingBlock& embedding, ValueId x) {
  const WeightTable& table = weights_.model().weights();
  const Place types[] = {weights_.vector(table.optional_vector(embedding.type)),
                         weights_.vector(table.optional_vector(embedding.second_type))};
  const FloatRows rows = values_[x].rows;
  bool ordered = true;
  for (uint32_t begin = 0, end; begin < step_.rows(); begin = end) {
    const bool second = step_.is_second(begin);
    for (end = begin + 1; end < step_.rows() && step_.is_second(end) == second;) ++end;
    const Place type = types[second ? 1 : 0];
    if (!type) continue;
    const FloatRows some = {rows.at + begin * rows.stride * sizeof(float), rows.stride};
    commands_.add(
        AddCall{.a = some, .b = {type, 0}, .rows = end - begin, .n = values_[x].width, .out = some},
        std::exchange(ordered, false));
  }
}

// Computes on the accelerator what embed_row() computes on the cores (graph/ops/rows.h).
Reduced AcceleratorLayers::embed(const EmbeddingBlock& embedding,
                                 const std::optional<NormRef>& before) {
  const WeightTable& table = weights_.model().weights();
  ValueId x;
  if (weights_.has_tables()) {
    const Place tokens = commands_.input(std::as_bytes(step_.tokens));
    x = table_rows(table.matrix(embedding.token), tokens, embedding.scale);
    if (embedding.positions) {
      const Place positions = commands_.input(std::as_bytes(step_.positions));
      x = add(x, table_rows(table.matrix(embedding.positions), positions, 1));
    }
    add_types(embedding, x);
  } else {
    x = embedded_by_host(embedding);
  }
  const ValueId normed = norm(x, embedding.norm ? *embedding.norm : *before);
  return {{{embedding.norm ? normed : x}}, {{normed}}};
}

ValueId AcceleratorLayers::embedded_by_host(const EmbeddingBlock& embedding) {
  const WeightTable& table = weights_.model().weights();
  const Weight& token = table.matrix(embedding.token);
  const EmbeddingTables tables{&token,
                               embedding.positions ? &table.matrix(embedding.positions) : nullptr,
                               table.optional_vector(embedding.type),
                               table.optional_vector(embedding.second_type), embedding.scale};
  const uint64_t row_bytes = uint64_t{token.k} * sizeof(float);
  const auto make = [tables, step = step_, row_bytes](uint64_t first, std::span<std::byte> piece) {
    const Kernels& kernels = kernels_for(Isa::kReference);
    std::vector<float> scratch(tables.token->k);
    auto row = static_cast<uint32_t>(first / row_bytes);
    for (; !piece.empty(); piece = piece.subspan(row_bytes), ++row) {
      embed_row(tables, step, row, 0, kernels, reinterpret_cast<float*>(piece.data()),
                scratch.data());
    }
  };
  return add_value({commands_.made_input(step_.rows() * row_bytes, row_bytes, make), token.k},
                   token.k);
}

Partials AcceleratorLayers::block(uint32_t layer, const Block& block, const Reduced& stream) {
  const auto* attention = std::get_if<AttentionBlock>(&block.body);
  const auto* experts = std::get_if<ExpertsBlock>(&block.body);
  const auto* latents = std::get_if<LatentBlock>(&block.body);
  if (filled_) {
    // A pass stops before these experts, so it needs their partial sums only in shape.
    if (experts != nullptr) return no_partials(*experts);
    if (latents != nullptr) return partials_of({latents->output, {}});
    return partials_of(attention != nullptr ? attention->output
                                            : std::get<FeedForwardBlock>(block.body).down);
  }
  if (std::exchange(layer_, layer) != layer) commands_.begin_stage({layer});
  const ValueId x = stream.normed.values[0];
  if (attention != nullptr) return make(*attention, x);
  if (experts != nullptr) return make(*experts, x);
  if (latents != nullptr) return make(*latents, x);
  return make(std::get<FeedForwardBlock>(block.body), x);
}

Partials AcceleratorLayers::make(const FeedForwardBlock& block, ValueId input) {
  const WeightTable& table = weights_.model().weights();
  const Weight& down = table.matrix(block.down.weight);
  Partials partials = partials_of(block.down);
  const bool gated{block.gate.weight};
  const LinearRef& first = gated ? block.gate : block.up;
  for (uint32_t s = 0; s < down.shards.size(); ++s) {
    const Shard& shard = table.matrix(first.weight).shards[s];
    if (shard.spec.rows == 0) continue;
    const ValueId x = linear(input, first, s, true);
    GateCall call{.kind = gate_kind(block.activation), .rows = step_.rows(), .n = shard.spec.rows};
    call.x = values_[x].rows;
    bool ordered = true;
    if (gated) {
      const ValueId up = linear(input, block.up, s, false);
      call.up = values_[up].rows;
      add_bias(block.up, s, up, &ordered);
    }
    if (call.kind == GateKind::kSilu) {
      add_bias(first, s, x, &ordered);
    } else if (first.bias) {
      call.bias = weights_.vector(&table.vector(first.bias)) + shard.row0 * sizeof(float);
    }
    call.out = call.x;
    commands_.add(call);
    add_partial(&partials, x, down, s);
  }
  return partials;
}

ValueId AcceleratorLayers::norm(ValueId x, const NormRef& by) {
  const WeightTable& table = weights_.model().weights();
  const ValueId out = add_value(values_[x].width);
  commands_.add(
      NormCall{.kind = by.kind == NormKind::kRms ? NormCallKind::kRms : NormCallKind::kLayer,
               .x = values_[x].rows,
               .weight = weights_.vector(&table.vector(by.weight)),
               .bias = weights_.vector(table.optional_vector(by.bias)),
               .rows = step_.rows(),
               .n = values_[x].width,
               .eps = by.eps,
               .out = values_[out].rows});
  return out;
}

// Returns a + b, or a + (b + bias).
ValueId AcceleratorLayers::add(ValueId a, ValueId b, Place bias) {
  const ValueId out = add_value(values_[a].width);
  AddCall call{.a = values_[a].rows,
               .b = values_[b].rows,
               .rows = step_.rows(),
               .n = values_[a].width,
               .out = values_[out].rows};
  if (bias) call.c = {bias, 0};
  commands_.add(call);
  return out;
}

ValueId AcceleratorLayers::sum_of(const Partials& partials) {
  std::vector<ValueId> operands;
  const PartialSum sum = sum_of_parts(partials);
  for (int32_t step : sum.program) {
    if (step != kAdd) {
      operands.push_back(sum.values[static_cast<size_t>(step)]);
      continue;
    }
    const ValueId upper = operands.back();
    operands.pop_back();
    operands.back() = add(operands.back(), upper);
  }
  HEARTH_CHECK(operands.size() == 1, "one sum is left");
  return operands[0];
}

Reduced AcceleratorLayers::join(const Reduced& stream, const Partials& result, const Block& block,
                                const Next& next) {
  if (filled_) return {stream.x, stream.x};
  const BlockNorms& norms = block.norms;
  const ValueId residual = stream.x.values[0];
  const Place bias = weights_.vector(result.bias);
  ValueId sum = sum_of(result);
  if (norms.behind) {
    if (bias) {
      const ValueId with = add_value(values_[sum].width);
      commands_.add(AddCall{.a = values_[sum].rows,
                            .b = {bias, 0},
                            .rows = step_.rows(),
                            .n = values_[sum].width,
                            .out = values_[with].rows});
      sum = with;
    }
    sum = add(residual, norm(sum, *norms.behind));
  } else {
    sum = add(residual, sum, bias);
  }
  if (norms.inner) sum = add(residual, norm(sum, *norms.inner));
  const ValueId normed = norm(sum, norms.after ? *norms.after : *next.norm);
  if (next.rows == RowSet::kOutputs) {
    last_ = normed;
  } else {
    commands_.mark();
  }
  return {{{norms.after ? normed : sum}}, {{normed}}};
}

}  // namespace hearth
