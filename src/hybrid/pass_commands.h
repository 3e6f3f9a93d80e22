// The commands of one pass while it is made: calls over values that have no place yet. A value is a
// buffer of its own as long as the list is made; then those that are never needed together lie in
// the same bytes (memory/activation_plan.h), in as many pieces as an accelerator's longest buffer
// asks for. A pass of more rows has the same values in the same order, longer ones: one of fewer
// rows lies as it does.
//
// What the host makes for the pass lies apart: inputs that it holds in a buffer, and those that it
// makes while it writes them in another.
//
//   PassCommands pass;
//   Place x = pass.input(bytes), y = pass.value(bytes);
//   pass.add(NormCall{...});               // after all before it
//   pass.add(QuantizeCall{...}, false);    // beside the one before
//   pass.begin_stage({1});                 // what follows uses other weights
//   pass.lay_out(facts.allocation_bytes, y);
//   PassMemory memory(accelerator, pass);  // hybrid/pass_memory.h
//   CommandList list = pass.placed_in(memory.buffers(), done);
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "accelerator/command_list.h"
#include "hybrid/pass_weights.h"
#include "memory/activation_plan.h"

namespace hearth {

// The places of the values of a pass.
struct PassLayout {
  struct Slot {
    uint32_t piece;
    uint64_t offset, bytes;
  };
  std::vector<Slot> slots;       // by value
  std::vector<uint64_t> pieces;  // bytes of each

  // The shortest piece that any of them fits into.
  uint64_t least_piece() const;
};

class PassCommands {
 public:
  struct Buffers {
    BufferId inputs, made;         // made: none where no input is
    std::vector<BufferId> values;  // by piece
  };

  // `holds_inputs`: else inputs have places and sizes and no bytes, for who asks what a pass costs.
  explicit PassCommands(bool holds_inputs = true) : holds_inputs_(holds_inputs) {}

  // Reserves bytes, at least one.
  Place value(uint64_t bytes);
  // 256-byte aligned in its buffer, as what is made.
  Place input(std::span<const std::byte> bytes);
  // The same, made piece by piece when it is written, so that the host never holds all of it. A
  // piece is whole units of so many bytes; `make` fills that from byte `first` on.
  using MakePiece = std::function<void(uint64_t first, std::span<std::byte> piece)>;
  Place made_input(uint64_t bytes, uint64_t unit, MakePiece make);
  // `ordered`: after all that was added before; else beside the one before.
  void add(KernelCall call, bool ordered = true);

  // Begins a stage: commands that are added from now on use this part's weights; those before the
  // first call use the first layer's, without experts.
  void begin_stage(const LayerPart& part);

  // The command before gives a sign of life: a value of the timeline that the last one ends with.
  void mark() { list_.commands.back().signals.push_back({0, ++marks_}); }

  // How long the buffers of inputs are.
  uint64_t held_bytes() const { return held_bytes_; }
  uint64_t made_bytes() const { return made_bytes_; }
  // Writes all of them, in pieces of 4 MiB at most of what is made; where inputs are not held,
  // zeros.
  using Write = std::function<void(const Place& to, std::span<const std::byte> bytes)>;
  void write_inputs(const Buffers& buffers, const Write& write) const;

  // Gives values their places, in pieces of so many bytes at most, or where a value is longer as
  // that. `kept`, if any, is not written again once it was made. Nothing is added afterwards.
  const PassLayout& lay_out(uint64_t piece_bytes, const Place& kept = {});
  // Gives values the places that they have in a pass of at least as many rows.
  void lay_out_as(const PassLayout& larger);
  const PassLayout& layout() const { return layout_; }

  // The list with its inputs and values in these buffers. Its marks give the values behind `before`
  // on that timeline, moments() of them; the last one says that all has ended.
  CommandList placed_in(const Buffers& buffers, Moment before) const;
  uint64_t moments() const { return marks_ + 1; }
  // The commands of a stage, without signals.
  struct Stage {
    LayerPart part;
    CommandList list;
  };
  std::vector<Stage> stages_in(const Buffers& buffers) const;
  Place place_in(const Buffers& buffers, const Place& place) const;

 private:
  // Buffers of accelerators are numbered from 0.
  static constexpr BufferId kMadeInputs = (BufferId{1} << 30) - 2, kInputs = kMadeInputs + 1,
                            kFirstValue = kInputs + 1;
  struct MadeInput {
    uint64_t at, bytes, unit;
    MakePiece make;
  };

  std::vector<ActivationValue> lifetimes(const Place& kept) const;

  bool holds_inputs_;
  uint64_t held_bytes_ = 0, made_bytes_ = 0;
  std::vector<std::byte> inputs_;  // held_bytes_, or none
  std::vector<MadeInput> made_;    // or none
  std::vector<uint64_t> bytes_;    // by value
  PassLayout layout_;
  CommandList list_;  // whose signals are marks, counted from 1
  uint64_t marks_ = 0;
  struct StageBegin {
    LayerPart part;
    size_t command;
  };
  std::vector<StageBegin> stages_ = {{{}, 0}};
};

}  // namespace hearth
