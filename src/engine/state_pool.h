// The slots that hold states of sequences (graph/state_view.h). A slot is free, held by sequences,
// kept for a page of the prefix tree (engine/kv_pool.h), or both held and kept. A kept state is a
// sequence's state at the end of that page, and any holder of the page may go on from it. Only its
// single holder writes to a slot, and only if the slot is not kept. So keeping, taking and sharing
// a state copies nothing. Used by one thread.
//
// Every sequence with a state has claimed one of `places`. So as long as only these sequences take
// slots, there is a slot for each of them, however many states are kept.
//
// At most `max_kept` states are kept. If one more is to be kept, or if slots are short, the state
// that has been unused for longest is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/state_view.h"

namespace hearth {

class StatePool {
 public:
  // Copies the state of slot `from` to slot `to`, of all layers and shards.
  using CopySlot = std::function<void(uint32_t from, uint32_t to)>;

  // Makes `places` + `max_kept` slots. Pages are those of the KV pool, [0, pages).
  StatePool(uint32_t places, uint32_t max_kept, uint32_t pages, CopySlot copy);

  uint32_t slots() const { return static_cast<uint32_t>(slots_.size()); }
  // Returns the number of slots that no sequence holds and that are kept for no page.
  uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  uint32_t places() const { return places_; }
  uint32_t free_places() const { return free_places_; }
  // Claims one of the places for a sequence; one must be free.
  void claim();
  void give_up() { ++free_places_; }

  // Returns whether take() finds a slot: a free one, or a kept one without a holder.
  bool can_take() const { return !free_.empty() || oldest(Which::kUnheld) != kNoSlot; }
  // Returns a slot that one sequence holds from now on; can_take() must be true.
  uint32_t take();
  // Adds one holder to the slot.
  void share(uint32_t slot) { ++slots_[slot].holders; }
  void release(uint32_t slot);
  // Returns whether its holder may write to the slot: it is the only holder, and the slot is not
  // kept.
  bool is_private(uint32_t slot) const {
    return slots_[slot].holders == 1 && slots_[slot].page == kNoPage;
  }
  // Returns whether the slot has one holder; it may also be kept.
  bool is_only_holder(uint32_t slot) const { return slots_[slot].holders == 1; }
  void copy(uint32_t from, uint32_t to) const { copy_(from, to); }

  uint32_t max_kept() const { return max_kept_; }
  uint32_t kept_count() const { return kept_count_; }
  // Returns how many kept states were dropped to make room, or because their pages were evicted.
  uint64_t evictions() const { return evictions_; }
  // Returns the slot kept for the page; kNoSlot if there is none.
  uint32_t find(uint32_t page) const { return page < kept_.size() ? kept_[page] : kNoSlot; }
  // Keeps a held slot for a page that has none. Does nothing in a pool that keeps no states.
  void keep(uint32_t page, uint32_t slot);
  // Makes the page's kept state lasting: forget_passing() no longer drops it.
  void settle(uint32_t page);
  // Marks the page's state as just used.
  void use(uint32_t page) { slots_[kept_[page]].used = ++uses_; }
  // Drops the page's state, if it has one.
  void forget(uint32_t page);
  // Drops the page's state unless settle() made it lasting.
  void forget_passing(uint32_t page);
  // Drops the state of a page that the KV pool gives to another holder, and counts an eviction.
  void evict(uint32_t page);
  // Stops keeping the slot: with one holder it is then private.
  void forget_slot(uint32_t slot);

 private:
  static constexpr uint32_t kNoPage = UINT32_MAX;
  enum class Which : uint8_t { kAny, kUnheld };
  struct Slot {
    uint32_t holders = 0;
    uint32_t page = kNoPage;  // the page that it is kept for
    bool settled = false;
    uint64_t used = 0;
  };

  // Returns the kept slot that has been unused for longest; kNoSlot if there is none.
  uint32_t oldest(Which which) const;

  CopySlot copy_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> kept_;  // by page
  uint32_t places_, free_places_, max_kept_;
  uint32_t kept_count_ = 0;
  uint64_t uses_ = 0, evictions_ = 0;
};

}  // namespace hearth
