// The states of sequences: what a layer keeps of all positions so far in place of keys and values
// (graph/ops/delta_net.h). Each shard has one region of slots, in each the states of all layers,
// one after another. A step reads the state of an item's sequence in one slot and writes it to
// another, or to the same. Slots are shared by layers and shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth {

// The number of no slot: a state that is read from there is all zeros, as before a sequence's first
// token.
inline constexpr uint32_t kNoSlot = UINT32_MAX;

class StateView {
 public:
  StateView() = default;
  // floats[layer][shard]: of a layer's state on the shard; 0 where it keeps none.
  StateView(uint32_t slots, uint32_t shards, const std::vector<std::vector<size_t>>& floats);

  uint32_t slots() const { return slots_; }
  // The shards have no memory yet where this is called.
  void set_slots(uint32_t slots) { slots_ = slots; }
  // Bytes of a slot on a shard, and of all; multiples of 64.
  size_t slot_bytes(uint32_t shard) const {
    return shards_.empty() ? 0 : shards_[shard].slot_floats * sizeof(float);
  }
  size_t shard_bytes(uint32_t shard) const { return slot_bytes(shard) * slots_; }
  // Bytes of a slot on all shards.
  size_t slot_bytes() const;
  // shard_bytes(shard) bytes, 64-byte aligned.
  void set_base(uint32_t shard, std::byte* base) {
    if (!shards_.empty()) shards_[shard].base = reinterpret_cast<float*>(base);
  }

  // Returns a layer's state in a slot, on a shard; null for kNoSlot.
  float* at(uint32_t shard, uint32_t layer, uint32_t slot) const {
    const ShardPlace& place = shards_[shard];
    if (slot == kNoSlot) return nullptr;
    return place.base + slot * place.slot_floats + place.layers[layer];
  }
  // Copies a slot's states, of all shards.
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
