// IdTable: the hash index of an interning store. It maps hashes to numbers; the caller owns the
// interned values, and compares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hearth {

inline constexpr uint32_t kNoId = 0xffffffff;

// Mixes `value` into `hash`.
inline uint64_t mix_hash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

class IdTable {
 public:
  // Returns the number of that hash for which `equal(number)` holds, or kNoId.
  template <typename Equal>
  uint32_t find(uint64_t hash, Equal equal) const {
    if (slots_.empty()) return kNoId;
    for (size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.id == kNoId) return kNoId;
      if (slot.hash == static_cast<uint32_t>(hash >> 32) && equal(slot.id)) return slot.id;
    }
  }

  // Adds a number that is not in the table yet.
  void insert(uint64_t hash, uint32_t id) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put(slots_, {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(hash), id});
    ++size_;
  }

  // Removes all numbers, but keeps the memory of a small table.
  void clear() {
    if (size_ == 0) return;
    size_ = 0;
    if (slots_.size() > kSmall) {
      slots_.clear();
    } else {
      slots_.assign(slots_.size(), Slot());
    }
  }
  size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr size_t kSmall = 256;
  struct Slot {
    uint32_t hash = 0;   // the upper half of the hash
    uint32_t place = 0;  // the lower half, which decides the slot
    uint32_t id = kNoId;
  };

  size_t mask() const { return slots_.size() - 1; }
  static void put(std::vector<Slot>& slots, Slot slot) {
    size_t at = slot.place & (slots.size() - 1);
    while (slots[at].id != kNoId) at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
  void grow() {
    std::vector<Slot> larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.id != kNoId) put(larger, slot);
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;  // a power of two of them
  size_t size_ = 0;
};

}  // namespace hearth
