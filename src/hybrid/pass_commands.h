// The commands of one pass while they are being made: calls over values that have no place yet.
// Each value counts as a buffer of its own as long as the list is made. lay_out() then gives the
// same bytes to values that are never needed together (memory/activation_plan.h). It divides the
// bytes into as many pieces as the longest buffer of the accelerator requires. A pass of more rows
// has the same values in the same order, only longer. So a pass of fewer rows can use the layout of
// a larger one.
//
// The host's inputs lie apart from the values. Inputs whose bytes the host holds are in one buffer;
// those that it makes while it writes them are in another.
//
//   PassCommands pass;
//   Place x = pass.input(bytes), y = pass.value(bytes);
//   pass.add(NormCall{...});               // after all commands before it
//   pass.add(QuantizeCall{...}, false);    // beside the command before
//   pass.begin_stage({1});                 // the next commands use other weights
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

  // Returns the length of the shortest piece into which every value fits.
  uint64_t min_piece() const;
};

class PassCommands {
 public:
  struct Buffers {
    BufferId inputs, made;         // kNoBuffer in `made`: no input is made
    std::vector<BufferId> values;  // by piece
  };

  // `holds_inputs`: whether inputs keep their bytes. Without, they have only places and sizes,
  // which is enough to find out what a pass costs.
  explicit PassCommands(bool holds_inputs = true) : holds_inputs_(holds_inputs) {}

  // Reserves the bytes of a value, at least one.
  Place value(uint64_t bytes);
  // Adds an input with these bytes; it begins at a multiple of 256 bytes of its buffer.
  Place input(std::span<const std::byte> bytes);
  // Adds an input that is made piece by piece while it is written, so that the host never holds all
  // of it. make(first, piece) fills the piece that begins at byte `first`. The length of a piece is
  // a multiple of `unit` bytes.
  using MakePiece = std::function<void(uint64_t first, std::span<std::byte> piece)>;
  Place made_input(uint64_t bytes, uint64_t unit, MakePiece make);
  // Adds a call. If `ordered`, it runs after all commands before it; else it runs beside the
  // command before it.
  void add(KernelCall call, bool ordered = true);

  // Begins a stage: the commands that are added from now on use the weights of `part`. The first
  // stage needs no such call: it uses the weights of the first layer, without those of routed
  // experts.
  void begin_stage(const LayerPart& part);

  // Makes the last command signal that the pass makes progress. The signal is a value of the
  // timeline that also signals the pass's end.
  void mark() { list_.commands.back().signals.push_back({0, ++marks_}); }

  // The lengths of the two buffers of inputs, in bytes.
  uint64_t held_bytes() const { return held_bytes_; }
  uint64_t made_bytes() const { return made_bytes_; }
  // Writes all inputs; inputs that are made come in pieces of at most 4 MiB. Where the inputs keep
  // no bytes, writes zeros.
  using Write = std::function<void(const Place& to, std::span<const std::byte> bytes)>;
  void write_inputs(const Buffers& buffers, const Write& write) const;

  // Gives each value its place. Values lie in pieces of at most `piece_bytes`, or as long as the
  // longest value if that is longer. No later value takes the bytes of `kept`, if any is given.
  // After this, nothing may be added.
  const PassLayout& lay_out(uint64_t piece_bytes, const Place& kept = {});
  // Gives values the places that they have in the layout of a pass of at least as many rows.
  void lay_out_as(const PassLayout& larger);
  const PassLayout& layout() const { return layout_; }

  // Returns the list with its inputs and values in these buffers. Its marks and its end signal the
  // moments() values of the timeline that follow `before`. The last value says that all commands
  // have ended.
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
  // Buffer numbers of this pass are above those that the accelerator gives, which begin at 0.
  static constexpr BufferId kMadeInputs = (BufferId{1} << 30) - 2, kInputs = kMadeInputs + 1,
                            kFirstValue = kInputs + 1;
  struct MadeInput {
    uint64_t at, bytes, unit;
    MakePiece make;
  };

  std::vector<ActivationValue> lifetimes(const Place& kept) const;

  bool holds_inputs_;
  uint64_t held_bytes_ = 0, made_bytes_ = 0;
  std::vector<std::byte> inputs_;  // held_bytes_ long, or empty
  std::vector<MadeInput> made_;    // empty where inputs are not held
  std::vector<uint64_t> bytes_;    // by value
  PassLayout layout_;
  CommandList list_;  // its signals are marks, numbered from 1
  uint64_t marks_ = 0;
  struct StageBegin {
    LayerPart part;
    size_t command;
  };
  std::vector<StageBegin> stages_ = {{{}, 0}};
};

}  // namespace hearth
