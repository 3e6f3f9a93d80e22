// The states of sequences. A layer may keep one state for all positions of a sequence so far, in
// place of keys and values (graph/ops/delta_net.h). Each shard has one region of slots. A slot
// holds the states of all layers, one after another. A step reads the state of an item's sequence
// in one slot and writes it to another, or to the same. All layers and shards use the same slot
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth {

// The slot number that stands for no slot. A state read from it is all zeros, as before a
// sequence's first token.
inline constexpr uint32_t kNoSlot = UINT32_MAX;

class StateView {
 public:
  StateView() = default;
  // floats[layer][shard]: the size of the layer's state on the shard; 0 if it keeps none there.
  StateView(uint32_t slots, uint32_t shards, const std::vector<std::vector<size_t>>& floats);

  uint32_t slots() const { return slots_; }
  // Sets the number of slots. Must be called before the shards have memory.
  void set_slots(uint32_t slots) { slots_ = slots; }
  // Return the bytes of a slot, or of all slots, on a shard; multiples of 64.
  size_t slot_bytes(uint32_t shard) const {
    return shards_.empty() ? 0 : shards_[shard].slot_floats * sizeof(float);
  }
  size_t shard_bytes(uint32_t shard) const { return slot_bytes(shard) * slots_; }
  // Returns the bytes of a slot on all shards.
  size_t slot_bytes() const;
  // `base`: shard_bytes(shard) bytes, 64-byte aligned.
  void set_base(uint32_t shard, std::byte* base) {
    if (!shards_.empty()) shards_[shard].base = reinterpret_cast<float*>(base);
  }

  // Returns a layer's state in a slot, on a shard; null for kNoSlot.
  float* at(uint32_t shard, uint32_t layer, uint32_t slot) const {
    const ShardPlace& place = shards_[shard];
    if (slot == kNoSlot) return nullptr;
    return place.base + slot * place.slot_floats + place.layers[layer];
  }
  // Copies the states in slot `from` to slot `to`, on all shards.
  void copy(uint32_t from, uint32_t to) const;

 private:
  struct ShardPlace {
    float* base = nullptr;
    size_t slot_floats = 0;
    std::vector<size_t> layers;  // where each begins in a slot
  };
  uint32_t slots_ = 0;
  std::vector<ShardPlace> shards_;
};

}  // namespace hearth
