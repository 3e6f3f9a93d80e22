// The slots that states of sequences lie in (graph/state_view.h): each is free or one sequence's.
// Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "graph/state_view.h"

namespace hearth {

class StatePool {
 public:
  // Copies the state of slot `from` to slot `to`, of all layers and shards.
  using CopySlot = std::function<void(uint32_t from, uint32_t to)>;

  StatePool(uint32_t slots, CopySlot copy) : copy_(std::move(copy)), slots_(slots) {
    free_.reserve(slots);
    for (uint32_t slot = slots; slot > 0; --slot) free_.push_back(slot - 1);
  }

  uint32_t slots() const { return slots_; }
  uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  // Some slot must be free.
  uint32_t take() {
    HEARTH_CHECK(!free_.empty(), "a slot is free");
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void release(uint32_t slot) { free_.push_back(slot); }
  void copy(uint32_t from, uint32_t to) const { copy_(from, to); }

 private:
  CopySlot copy_;
  uint32_t slots_;
  std::vector<uint32_t> free_;
};

}  // namespace hearth
