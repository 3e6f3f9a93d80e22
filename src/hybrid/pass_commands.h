// The commands of one pass while it is made: calls over values that have no place yet. A value is a
// buffer of its own as long as the list is made; then all lie in one, those that are never needed
// together in the same bytes (memory/activation_plan.h).
//
// What the host makes for the pass lies in another, of inputs.
//
//   PassCommands pass;
//   Place x = pass.input(rows), y = pass.value(bytes);
//   pass.add(NormCall{...});               // after all before it
//   pass.add(QuantizeCall{...}, false);    // beside the one before
//   uint64_t bytes = pass.lay_out(y);
//   CommandList list = pass.placed_in({inputs.id(), values.id()}, done);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "accelerator/command_list.h"

namespace hearth {

class PassCommands {
 public:
  struct Buffers {
    BufferId inputs, values;
  };

  // `holds_inputs`: else inputs have places and sizes and no bytes, for who asks what a pass costs.
  explicit PassCommands(bool holds_inputs = true) : holds_inputs_(holds_inputs) {}

  // At least one byte.
  Place value(uint64_t bytes);
  // 256-byte aligned in its buffer.
  Place input(std::span<const std::byte> bytes);
  // The same to be filled by the caller, where inputs are held: all zeros at first, and there until
  // the next input.
  Place input_room(uint64_t bytes);
  std::byte* input_at(const Place& input) { return &inputs_[input.offset]; }
  // `ordered`: after all that was added before; else beside the one before.
  void add(KernelCall call, bool ordered = true);

  // What is added from now on is the next layer's; before the first call it is the first's.
  void begin_layer();

  // The command before gives a sign of life: a value of the timeline that the last one ends with.
  void mark() { list_.commands.back().signals.push_back({0, ++marks_}); }

  bool holds_inputs() const { return holds_inputs_; }
  // What is to be written to the buffer of inputs, and how long it is.
  std::span<const std::byte> inputs() const { return inputs_; }
  uint64_t input_bytes() const { return input_bytes_; }
  // Returns the bytes that all values take together. `kept`, if any, is not written again once it
  // was made. Nothing is added afterwards.
  uint64_t lay_out(const Place& kept = {});
  // The list with its inputs and values in these buffers. Its marks give the values behind `before`
  // on that timeline, moments() of them; the last one says that all has ended.
  CommandList placed_in(const Buffers& buffers, Moment before) const;
  uint64_t moments() const { return marks_ + 1; }
  // The same by layer, without signals.
  std::vector<CommandList> layers_in(const Buffers& buffers) const;
  Place place_in(const Buffers& buffers, const Place& place) const;

 private:
  // Buffers of accelerators are numbered from 0.
  static constexpr BufferId kInputs = (BufferId{1} << 30) - 1, kFirstValue = kInputs + 1;

  bool holds_inputs_;
  uint64_t input_bytes_ = 0;
  std::vector<std::byte> inputs_;  // of so many bytes, or none
  std::vector<uint64_t> bytes_;    // by value
  std::vector<uint64_t> offsets_;  // by value, once laid out
  CommandList list_;               // whose signals are marks, counted from 1
  uint64_t marks_ = 0;
  std::vector<size_t> layers_;  // where each begins but the first
};

}  // namespace hearth
