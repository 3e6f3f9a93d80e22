#include "hybrid/pass_commands.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/round_up.h"

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

void PassCommands::write_inputs(const Buffers& buffers, const Write& write) const {
  if (!holds_inputs_) {
    const std::vector<std::byte> zeros(std::min(std::max(held_bytes_, made_bytes_), kMadeBytes));
    for (const auto& [buffer, bytes] :
         {std::pair{buffers.inputs, held_bytes_}, {buffers.made, made_bytes_}}) {
      for (uint64_t at = 0; at < bytes; at += zeros.size()) {
        write({buffer, at}, std::span(zeros).first(std::min<uint64_t>(zeros.size(), bytes - at)));
      }
    }
    return;
  }
  write({buffers.inputs, 0}, inputs_);
  std::vector<std::byte> piece;
  for (const MadeInput& input : made_) {
    const uint64_t most = std::max<uint64_t>(kMadeBytes / input.unit, 1) * input.unit;
    for (uint64_t at = 0; at < input.bytes; at += piece.size()) {
      piece.resize(std::min(most, input.bytes - at));
      input.make(at, piece);
      write({buffers.made, input.at + at}, piece);
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

uint64_t PassLayout::min_piece() const {
  uint64_t most = kPlaceAlign;
  for (const Slot& slot : slots) most = std::max(most, round_up(slot.bytes, kPlaceAlign));
  return most;
}

// Returns the lifetime of each value, counted in steps of time. Commands that run side by side
// share one step.
std::vector<ActivationValue> PassCommands::lifetimes(const Place& kept) const {
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
  return values;
}

const PassLayout& PassCommands::lay_out(uint64_t piece_bytes, const Place& kept) {
  layout_ = {};
  for (uint64_t bytes : bytes_) layout_.slots.push_back({0, 0, bytes});
  const uint64_t piece = std::max(piece_bytes / kPlaceAlign * kPlaceAlign, layout_.min_piece());
  const ActivationPlan plan = plan_activations(lifetimes(kept), piece);
  layout_.pieces.assign(plan.pieces.begin(), plan.pieces.end());
  for (size_t i = 0; i < bytes_.size(); ++i) {
    layout_.slots[i].piece = static_cast<uint32_t>(plan.offsets[i] / piece);
    layout_.slots[i].offset = plan.offsets[i] % piece;
  }
  return layout_;
}

void PassCommands::lay_out_as(const PassLayout& larger) {
  HEARTH_CHECK(larger.slots.size() == bytes_.size(), "passes differ in their rows alone");
  for (size_t i = 0; i < bytes_.size(); ++i) {
    HEARTH_CHECK(bytes_[i] <= larger.slots[i].bytes, "there is room for the pass's rows");
  }
  layout_ = larger;
}

Place PassCommands::place_in(const Buffers& buffers, const Place& place) const {
  if (!place || place.buffer < kMadeInputs) return place;
  if (place.buffer == kInputs) return {buffers.inputs, place.offset};
  if (place.buffer == kMadeInputs) return {buffers.made, place.offset};
  const PassLayout::Slot& slot = layout_.slots[place.buffer - kFirstValue];
  return {buffers.values[slot.piece], slot.offset + place.offset};
}

std::vector<PassCommands::Stage> PassCommands::stages_in(const Buffers& buffers) const {
  HEARTH_CHECK(layout_.slots.size() == bytes_.size() && !list_.commands.empty(), "it was laid out");
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
  HEARTH_CHECK(layout_.slots.size() == bytes_.size() && !list_.commands.empty(), "it was laid out");
  CommandList placed = list_;
  for (Command& command : placed.commands) {
    for_each_place(&command, [&](Place* place) { *place = place_in(buffers, *place); });
    for (Moment& mark : command.signals) mark = {before.timeline, before.value + mark.value};
  }
  placed.commands.back().signals.push_back({before.timeline, before.value + moments()});
  return placed;
}

}  // namespace hearth
