#include "hybrid/accelerator_layers.h"

#include <algorithm>

#include "base/check.h"
#include "base/round_up.h"
#include "graph/ops/rows.h"
#include "graph/slices.h"

namespace hearth {
namespace {

GateKind gate_kind(Activation activation) {
  if (activation == Activation::kSilu) return GateKind::kSilu;
  return activation == Activation::kGelu ? GateKind::kGelu : GateKind::kGeluTanh;
}

}  // namespace

std::string why_no_pass(const ModelSpec& spec) {
  for (const Layer& layer : spec.layers) {
    for (const Block& block : layer.blocks) {
      const auto* attention = std::get_if<AttentionBlock>(&block.body);
      if (attention == nullptr && !std::holds_alternative<FeedForwardBlock>(block.body)) {
        return "experts and latents are not computed on a GPU yet";
      }
      const auto* feed_forward = std::get_if<FeedForwardBlock>(&block.body);
      if (feed_forward != nullptr && feed_forward->activation == Activation::kClampedSwiglu) {
        return "SwiGLU with limits is not computed on a GPU yet";
      }
      if (attention == nullptr) continue;
      if (attention->kept == KvKept::kCached) {
        return "models that keep keys and values are not computed on a GPU yet";
      }
      if (attention->norms && attention->norms->span == HeadNormSpan::kRow) {
        return "norms over all heads of a row are not computed on a GPU yet";
      }
      if (attention->sinks) return "attention with sinks is not computed on a GPU yet";
      if (attention->temperature.growth != 0) {
        return "queries with a temperature are not computed on a GPU yet";
      }
    }
  }
  for (const WeightSpec& weight : spec.weights) {
    if (weight.input_order) {
      return "weights with an order of columns are not computed on a GPU yet";
    }
    if (weight.cut == WeightCut::kReplicated) {
      return "weights that every node has a copy of are not computed on a GPU yet";
    }
  }
  return "";
}

AcceleratorLayers::AcceleratorLayers(const AcceleratorWeights& weights, uint32_t context,
                                     const StepView& step, PassCommands* commands)
    : weights_(weights), context_(context), step_(step), commands_(*commands) {
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
  return {{}, {}, *weight.cuts, weight.rows, table.optional_vector(by.bias)};
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
  partials->pieces.push_back({s, {0, segments}});
  partials->bundle.values.push_back(of.out);
}

Reduced AcceleratorLayers::embed(const EmbeddingBlock& embedding,
                                 const std::optional<NormRef>& before) {
  const WeightTable& table = weights_.model().weights();
  const Weight& token = table.matrix(embedding.token);
  const uint32_t width = token.k;
  const EmbeddingTables tables{&token,
                               embedding.positions ? &table.matrix(embedding.positions) : nullptr,
                               table.optional_vector(embedding.type),
                               table.optional_vector(embedding.second_type), embedding.scale};
  const Kernels& kernels = kernels_for(Isa::kReference);
  std::vector<float> rows(size_t{step_.rows()} * width), scratch(width);
  for (uint32_t r = 0; r < step_.rows(); ++r) {
    embed_row(tables, step_, r, 0, kernels, &rows[size_t{r} * width], scratch.data());
  }
  const ValueId x = add_value({commands_.input(std::as_bytes(std::span(rows))), width}, width);
  const ValueId normed = norm(x, embedding.norm ? *embedding.norm : *before);
  return {{{embedding.norm ? normed : x}}, {{normed}}};
}

Partials AcceleratorLayers::block(uint32_t, const Block& block, const Bundle& input) {
  const ValueId x = input.values[0];
  if (const auto* attention = std::get_if<AttentionBlock>(&block.body)) return make(*attention, x);
  return make(std::get<FeedForwardBlock>(block.body), x);
}

Partials AcceleratorLayers::make(const AttentionBlock& block, ValueId input) {
  const WeightTable& table = weights_.model().weights();
  const Weight& output = table.matrix(block.output.weight);
  Partials partials = partials_of(block.output);
  for (uint32_t s = 0; s < output.shards.size(); ++s) {
    const Shard& queries = table.matrix(block.query.weight).shards[s];
    const Shard& keys = table.matrix(block.key.weight).shards[s];
    if (queries.spec.rows == 0) continue;
    const ValueId q = linear(input, block.query, s, true);
    const ValueId k = linear(input, block.key, s, false);
    const ValueId v = linear(input, block.value, s, false);
    bool ordered = true;
    add_bias(block.query, s, q, &ordered);
    add_bias(block.key, s, k, &ordered);
    add_bias(block.value, s, v, &ordered);
    const uint32_t d = block.key_length;
    const Heads heads{{queries.row0 / d, (queries.row0 + queries.spec.rows) / d},
                      {keys.row0 / d, (keys.row0 + keys.spec.rows) / d}};
    if (block.norms) {
      norm_heads(block.norms->query, q, heads.queries.size(), d);
      norm_heads(block.norms->key, k, heads.kv.size(), d);
    }
    if (block.rope) {
      turn(block, q, heads.queries.size());
      turn(block, k, heads.kv.size());
    }
    add_partial(&partials, attend(block, heads, q, k, v), output, s);
  }
  return partials;
}

void AcceleratorLayers::norm_heads(const NormRef& by, ValueId x, uint32_t heads, uint32_t length) {
  const Place weight = weights_.vector(&weights_.model().weights().vector(by.weight));
  for (uint32_t h = 0; h < heads; ++h) {
    const FloatRows rows = head_rows(x, h, length);
    commands_.add(NormCall{.x = rows,
                           .weight = weight,
                           .rows = step_.rows(),
                           .n = length,
                           .eps = by.eps,
                           .out = rows},
                  h == 0);
  }
}

void AcceleratorLayers::turn(const AttentionBlock& block, ValueId x, uint32_t heads) {
  const Place angles = angles_of(*block.rope);
  const uint32_t n_rot = block.rope->n_rot;
  commands_.add(RopeCall{.x = values_[x].rows,
                         .rows = step_.rows(),
                         .heads = heads,
                         .head_stride = block.key_length,
                         .cos = angles,
                         .sin = angles + uint64_t{step_.rows()} * (n_rot / 2) * sizeof(float),
                         .n_rot = n_rot,
                         .layout = block.rope->layout});
}

// Where shards meet inside the query heads of a KV head, a call for each KV head.
ValueId AcceleratorLayers::attend(const AttentionBlock& block, const Heads& heads, ValueId q,
                                  ValueId k, ValueId v) {
  const uint32_t group = block.group_size();
  const ValueId out = add_value(heads.queries.size() * block.value_length);
  const bool whole =
      heads.queries.begin == heads.kv.begin * group && heads.queries.end == heads.kv.end * group;
  AttendCall call{.rows_of = rows_seen(block),
                  .rows = step_.rows(),
                  .step_rows = step_.rows(),
                  .key_length = block.key_length,
                  .value_length = block.value_length,
                  .scale = block.scale};
  std::vector<float> slopes;
  if (block.max_alibi > 0) slopes = alibi_slopes(block.heads, block.max_alibi);
  const uint32_t calls = whole ? 1 : heads.kv.size();
  for (uint32_t i = 0; i < calls; ++i) {
    const uint32_t head = heads.kv.begin + i;
    const UnitRange queries = whole ? heads.queries
                                    : UnitRange{std::max(heads.queries.begin, head * group),
                                                std::min(heads.queries.end, (head + 1) * group)};
    const uint32_t first = queries.begin - heads.queries.begin;
    call.heads = queries.size();
    call.group = whole ? group : queries.size();
    call.q = head_rows(q, first, block.key_length);
    call.k = head_rows(k, i, block.key_length);
    call.v = head_rows(v, i, block.value_length);
    call.out = head_rows(out, first, block.value_length);
    if (!slopes.empty()) {
      const std::span<const float> own(&slopes[queries.begin], queries.size());
      call.slopes = commands_.input(std::as_bytes(own));
    }
    commands_.add(call, i == 0);
  }
  return out;
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

// a + b, or a + (b + bias).
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
  for (int32_t step : sum_program(partials.pieces, partials.cuts)) {
    if (step != kAdd) {
      operands.push_back(partials.bundle.values[static_cast<size_t>(step)]);
      continue;
    }
    const ValueId upper = operands.back();
    operands.pop_back();
    operands.back() = add(operands.back(), upper);
  }
  HEARTH_CHECK(operands.size() == 1, "one sum is left");
  return operands[0];
}

Reduced AcceleratorLayers::join(const Bundle& x, const Partials& result, const BlockNorms& norms,
                                const std::optional<NormRef>& next, RowSet rows) {
  const ValueId residual = x.values[0];
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
  const ValueId normed = norm(sum, norms.after ? *norms.after : *next);
  if (rows == RowSet::kOutputs) {
    last_ = normed;
  } else {
    commands_.mark();
  }
  return {{{norms.after ? normed : sum}}, {{normed}}};
}

Place AcceleratorLayers::angles_of(const RopeParams& rope) {
  for (const auto& [of, place] : angles_) {
    if (*of == rope) return place;
  }
  const RopeTable table = make_rope_table(rope, context_);
  const size_t half = table.inverse_frequency.size(), rows = step_.rows();
  std::vector<float> angles(2 * rows * half);
  for (size_t r = 0; r < rows; ++r) {
    rope_angles(table, step_.positions[r], &angles[r * half], &angles[(rows + r) * half]);
  }
  const Place place = commands_.input(std::as_bytes(std::span(angles)));
  angles_.emplace_back(&rope, place);
  return place;
}

Place AcceleratorLayers::rows_seen(const AttentionBlock& block) {
  const auto [at, fresh] = seen_.try_emplace({block.mask, block.window});
  if (!fresh) return at->second;
  std::vector<AttendRow> rows;
  for (const StepItem& item : step_.items) {
    for (uint32_t i = 0; i < item.rows; ++i) {
      AttendRow row{item.first_row, i, 0, item.rows - 1};
      if (block.mask == Mask::kCausal) row.last = i;
      if (block.window != 0 && row.last >= block.window) row.first = row.last - block.window + 1;
      rows.push_back(row);
    }
  }
  at->second = commands_.input(std::as_bytes(std::span(rows)));
  return at->second;
}

}  // namespace hearth
