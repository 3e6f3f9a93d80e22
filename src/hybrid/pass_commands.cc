#include "hybrid/pass_commands.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/round_up.h"
#include "memory/activation_plan.h"

namespace hearth {
namespace {

constexpr uint64_t kPlaceAlign = 256;
constexpr uint64_t kMadeBytes = 4 << 20;

}  // namespace

Place PassCommands::value(uint64_t bytes) {
  HEARTH_CHECK(bytes > 0, "a value has bytes");
  bytes_.push_back(bytes);
  return {kFirstValue + static_cast<BufferId>(bytes_.size() - 1), 0};
}

Place PassCommands::input(std::span<const std::byte> bytes) {
  const uint64_t at = round_up(held_bytes_, kPlaceAlign);
  held_bytes_ = at + bytes.size();
  if (holds_inputs_) {
    inputs_.resize(held_bytes_);
    std::memcpy(inputs_.data() + at, bytes.data(), bytes.size());
  }
  return {kInputs, at};
}

Place PassCommands::made_input(uint64_t bytes, uint64_t unit, MakePiece make) {
  const uint64_t at = round_up(made_bytes_, kPlaceAlign);
  made_bytes_ = at + bytes;
  if (holds_inputs_) made_.push_back({at, bytes, unit, std::move(make)});
  return {kMadeInputs, at};
}

uint64_t PassCommands::made_begin() const {
  return made_bytes_ == 0 ? held_bytes_ : round_up(held_bytes_, kPlaceAlign);
}

void PassCommands::write_inputs(const Write& write) const {
  write(0, inputs_);
  std::vector<std::byte> piece;
  for (const MadeInput& input : made_) {
    const uint64_t most = std::max<uint64_t>(kMadeBytes / input.unit, 1) * input.unit;
    for (uint64_t at = 0; at < input.bytes; at += piece.size()) {
      piece.resize(std::min(most, input.bytes - at));
      input.make(at, piece);
      write(made_begin() + input.at + at, piece);
    }
  }
}

void PassCommands::add(KernelCall call, bool ordered) {
  list_.commands.push_back({.ordered = ordered, .work = std::move(call)});
}

void PassCommands::begin_stage(const LayerPart& part) {
  if (stages_.back().command == list_.commands.size()) stages_.pop_back();
  stages_.push_back({part, list_.commands.size()});
}

// Commands side by side count as one moment.
uint64_t PassCommands::lay_out(const Place& kept) {
  std::vector<ActivationValue> values;
  for (uint64_t bytes : bytes_) {
    values.push_back(
        {.bytes = bytes, .align = kPlaceAlign, .first_use = UINT32_MAX, .last_use = 0});
  }
  uint32_t time = 0;
  for (const Command& command : list_.commands) {
    if (command.ordered) ++time;
    for (const Access& access : accesses_of(command)) {
      if (access.at.buffer < kFirstValue) continue;
      ActivationValue& value = values[access.at.buffer - kFirstValue];
      value.first_use = std::min(value.first_use, time);
      value.last_use = std::max(value.last_use, time);
    }
  }
  for (ActivationValue& value : values) {
    if (value.first_use == UINT32_MAX) value.first_use = value.last_use = 0;
  }
  if (kept) values[kept.buffer - kFirstValue].last_use = time;
  const ActivationPlan plan = plan_activations(values);
  offsets_.assign(plan.offsets.begin(), plan.offsets.end());
  return plan.peak_bytes;
}

Place PassCommands::place_in(const Buffers& buffers, const Place& place) const {
  if (!place || place.buffer < kMadeInputs) return place;
  if (place.buffer == kInputs) return {buffers.inputs, place.offset};
  if (place.buffer == kMadeInputs) return {buffers.inputs, made_begin() + place.offset};
  return {buffers.values, offsets_[place.buffer - kFirstValue] + place.offset};
}

std::vector<PassCommands::Stage> PassCommands::stages_in(const Buffers& buffers) const {
  HEARTH_CHECK(offsets_.size() == bytes_.size() && !list_.commands.empty(), "it was laid out");
  std::vector<Stage> stages;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const bool last = i + 1 == stages_.size();
    const size_t end = last ? list_.commands.size() : stages_[i + 1].command;
    Stage& stage = stages.emplace_back(Stage{stages_[i].part, {}});
    for (size_t at = stages_[i].command; at < end; ++at) {
      Command& command = stage.list.commands.emplace_back(list_.commands[at]);
      for_each_place(&command, [&](Place* place) { *place = place_in(buffers, *place); });
      command.signals.clear();
    }
  }
  return stages;
}

CommandList PassCommands::placed_in(const Buffers& buffers, Moment before) const {
  HEARTH_CHECK(offsets_.size() == bytes_.size() && !list_.commands.empty(), "it was laid out");
  CommandList placed = list_;
  for (Command& command : placed.commands) {
    for_each_place(&command, [&](Place* place) { *place = place_in(buffers, *place); });
    for (Moment& mark : command.signals) mark = {before.timeline, before.value + mark.value};
  }
  placed.commands.back().signals.push_back({before.timeline, before.value + moments()});
  return placed;
}

}  // namespace hearth
