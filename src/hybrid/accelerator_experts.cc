// The layers of experts in AcceleratorLayers, in the order of graph/ops/experts.h. The routed
// experts are multiplied batch after batch (expert_batches.h), and a segment's sum is a chain in
// place. The shared expert is computed first, while the routed ones are being copied. The host does
// not know which rows chose which expert, so every batch has room for all rows.
#include <algorithm>
#include <utility>
#include <vector>

#include "hybrid/accelerator_layers.h"

namespace hearth {
AcceleratorLayers::Routed AcceleratorLayers::route(const ExpertsBlock& block, ValueId input) {
  const WeightTable& table = weights_.model().weights();
  const LinearRef router{block.router, block.router_bias};
  const ValueId logits = linear(input, router, 0, true);
  bool ordered = true;
  add_bias(router, 0, logits, &ordered);
  const uint64_t words = uint64_t{step_.rows()} * block.rule.used * sizeof(uint32_t);
  const Routed of{.block = block,
                  .experts = experts_of(table, block),
                  .input = input,
                  .chosen = commands_.value(words),
                  .weights = commands_.value(words),
                  .place = commands_.value(words),
                  .row = commands_.value(words),
                  .first = commands_.value((block.rule.experts + 1) * sizeof(uint32_t))};
  commands_.add(RouteCall{.rule = block.rule,
                          .logits = values_[logits].rows,
                          .bias = weights_.vector(table.optional_vector(block.bias)),
                          .rows = step_.rows(),
                          .chosen = of.chosen,
                          .weights = of.weights});
  commands_.add(GroupCall{.chosen = of.chosen,
                          .rows = step_.rows(),
                          .used = block.rule.used,
                          .experts = block.rule.experts,
                          .place = of.place,
                          .row = of.row,
                          .first = of.first});
  return of;
}

// Returns how many choices these experts may get from all rows. A row chooses an expert at most
// once.
uint32_t AcceleratorLayers::room_of(const Routed& of, uint32_t experts) const {
  return step_.rows() * std::min(of.block.rule.used, experts);
}

AcceleratorLayers::ExpertRooms AcceleratorLayers::rooms_for(const Routed& of,
                                                            std::span<const ExpertBatch> batches,
                                                            uint32_t s) {
  uint32_t most = 1;
  for (const ExpertBatch& batch : batches) {
    if (batch.shard == s && batch.on_end()) {
      most = std::max(most, static_cast<uint32_t>(batch.experts.size()));
    }
  }
  const ExpertBatch& first = *std::ranges::find(batches, s, &ExpertBatch::shard);
  const ExpertWeights& one = of.experts[first.experts[0]];
  const uint64_t room = room_of(of, most);
  const auto rows_of = [&](const Weight& weight) {
    const uint64_t stride = uint64_t{weight.shards[s].spec.panels()} * kPanelRows;
    return FloatRows{commands_.value(room * stride * sizeof(float)), stride};
  };
  const PackSpec& down = one.down->shards[s].spec;
  return {rows_of(*one.gate), rows_of(*one.up), rows_of(*one.down),
          commands_.value(act_bytes(act_format_for(down.kind), room, down.k))};
}

void AcceleratorLayers::add_experts(const Routed& of, const ExpertRooms& rooms,
                                    const ExpertBatch& batch, const UnitRange& which, ValueId sum,
                                    bool begins) {
  const RouterRule& rule = of.block.rule;
  const uint32_t rows = step_.rows(), room = room_of(of, which.size());
  const uint32_t expert0 = batch.experts[which.begin];
  const auto product = [&](const Weight* ExpertWeights::*member, const FloatRows& out) {
    const Weight& weight = *(of.experts[expert0].*member);
    const ShardPlace place = weights_.shard(weight, batch.shard);
    const PackSpec& spec = weight.shards[batch.shard].spec;
    return ExpertGemmCall{.spec = spec,
                          .codes = place.codes,
                          .scales = place.scales,
                          .codes_stride = batch.stride,
                          .scales_stride = place.scales ? batch.stride : 0,
                          .expert0 = expert0,
                          .experts = which.size(),
                          .choices = rows * rule.used,
                          .first = of.first,
                          .likely_rows = (rows * rule.used + rule.experts - 1) / rule.experts,
                          .room = room,
                          .out = out};
  };
  bool ordered = true;
  for (const auto& [member, out] :
       {std::pair{&ExpertWeights::gate, rooms.gate}, {&ExpertWeights::up, rooms.up}}) {
    ExpertGemmCall call = product(member, out);
    call.row = of.row;
    call.a = values_[of.input].formats.at(act_format_for(call.spec.kind));
    commands_.add(call, std::exchange(ordered, false));
  }
  ExpertGemmCall down = product(&ExpertWeights::down, rooms.out);
  down.a = {rooms.hidden, act_format_for(down.spec.kind), room, down.spec.k};
  const PlacedRows placed{of.first, expert0, which.size(), down.likely_rows};
  commands_.add(GateCall{.kind = gate_kind(of.block.activation),
                         .x = rooms.gate,
                         .up = rooms.up,
                         .rows = room,
                         .n = down.spec.k,
                         .out = rooms.gate,
                         .placed = placed});
  commands_.add(QuantizeCall{rooms.gate, room, down.spec.k, down.a, placed});
  commands_.add(down);
  commands_.add(ExpertAddCall{.x = rooms.out,
                              .room = room,
                              .chosen = of.chosen,
                              .weights = of.weights,
                              .place = of.place,
                              .first = of.first,
                              .rows = rows,
                              .used = rule.used,
                              .expert0 = expert0,
                              .experts = which.size(),
                              .likely_rows = down.likely_rows,
                              .n = down.spec.rows,
                              .begins = begins,
                              .out = values_[sum].rows});
}

void AcceleratorLayers::add_batch(const Routed& of, const ExpertRooms& rooms,
                                  const ExpertBatch& batch, ValueId sum, bool begins) {
  const auto count = static_cast<uint32_t>(batch.experts.size());
  if (batch.on_end()) return add_experts(of, rooms, batch, {0, count}, sum, begins);
  for (uint32_t i = 0; i < count; ++i) {
    add_experts(of, rooms, batch, {i, i + 1}, sum, begins && i == 0);
  }
}

PartialTree AcceleratorLayers::shared_expert(const ExpertsBlock& block, ValueId input) {
  const WeightTable& table = weights_.model().weights();
  const ExpertsBlock::Expert& shared = *block.shared;
  const ExpertWeights weights{&table.matrix(shared.gate), &table.matrix(shared.up),
                              &table.matrix(shared.down)};
  PartialTree tree{{}, {}, expert_cuts({&weights, 1})};
  for (uint32_t s = 0; s < weights.down->shards.size(); ++s) {
    if (tree.cuts.shard(s).size() == 0) continue;
    const ValueId x = linear(input, {shared.gate}, s, true);
    const ValueId up = linear(input, {shared.up}, s, false);
    commands_.add(GateCall{.kind = gate_kind(block.activation),
                           .x = values_[x].rows,
                           .up = values_[up].rows,
                           .rows = step_.rows(),
                           .n = values_[x].width,
                           .out = values_[x].rows});
    tree.pieces.push_back({s, {0, 1}});
    tree.bundle.values.push_back(linear(x, {shared.down}, s, true));
  }
  return tree;
}

void AcceleratorLayers::merge(std::vector<ValueId>* sums) {
  const FloatRows upper = values_[sums->back()].rows;
  sums->pop_back();
  const Value& lower = values_[sums->back()];
  commands_.add(AddCall{
      .a = lower.rows, .b = upper, .rows = step_.rows(), .n = lower.width, .out = lower.rows});
}

Partials AcceleratorLayers::no_partials(const ExpertsBlock& block) const {
  const std::vector<ExpertWeights> experts = experts_of(weights_.model().weights(), block);
  return {{{}, {}, expert_cuts(experts)}, experts[0].down->rows};
}

Partials AcceleratorLayers::make(const ExpertsBlock& block, ValueId input) {
  const Routed of = route(block, input);
  const ExpertWeights& one = of.experts[0];
  Partials partials = no_partials(block);
  if (block.shared) partials.last = shared_expert(block, input);
  const std::span<const ExpertBatch> batches = weights_.batches(layer_);
  for (const Weight* weight : {one.gate, one.up}) {
    bring(input, act_format_for(weight->type.kind));
  }
  ExpertRooms rooms;
  std::vector<ValueId> sums;  // of the shard's tree, not added up yet
  for (uint32_t i = 0; i < batches.size(); ++i) {
    const ExpertBatch& batch = batches[i];
    const auto shares = [&](const ExpertBatch& other) {
      return other.shard == batch.shard && other.segment == batch.segment;
    };
    if (i == 0 || batches[i - 1].shard != batch.shard) {
      rooms = rooms_for(of, batches, batch.shard);
    }
    const bool begins = i == 0 || !shares(batches[i - 1]);
    const bool ends = i + 1 == batches.size() || !shares(batches[i + 1]);
    commands_.begin_stage({layer_, i});
    if (begins) sums.push_back(add_value(partials.width));
    add_batch(of, rooms, batch, sums.back(), begins);
    if (!ends) continue;
    for (uint32_t count = batch.segment + 1; count % 2 == 0; count /= 2) merge(&sums);
    if (i + 1 < batches.size() && batches[i + 1].shard == batch.shard) continue;
    while (sums.size() > 1) merge(&sums);
    partials.tree.pieces.push_back({batch.shard, {0, batch.segment + 1}});
    partials.tree.bundle.values.push_back(sums[0]);
    sums.clear();
  }
  commands_.begin_stage({layer_});
  return partials;
}

}  // namespace hearth
