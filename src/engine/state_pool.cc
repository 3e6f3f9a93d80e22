#include "engine/state_pool.h"

#include <utility>

#include "base/check.h"

namespace hearth {

StatePool::StatePool(uint32_t places, uint32_t max_kept, uint32_t pages, CopySlot copy)
    : copy_(std::move(copy)),
      slots_(size_t{places} + max_kept),
      kept_(max_kept > 0 ? pages : 0, kNoSlot),
      places_(places),
      free_places_(places),
      max_kept_(max_kept) {
  free_.reserve(slots_.size());
  for (uint32_t slot = slots(); slot > 0; --slot) free_.push_back(slot - 1);
}

void StatePool::claim() {
  HEARTH_CHECK(free_places_ > 0, "a place is free");
  --free_places_;
}

uint32_t StatePool::take() {
  if (free_.empty()) {
    const uint32_t slot = oldest(Which::kUnheld);
    HEARTH_CHECK(slot != kNoSlot, "a slot was promised");
    evict(slots_[slot].page);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot].holders = 1;
  return slot;
}

void StatePool::release(uint32_t slot) {
  HEARTH_CHECK(slots_[slot].holders > 0, "the slot is held");
  if (--slots_[slot].holders == 0 && slots_[slot].page == kNoPage) free_.push_back(slot);
}

void StatePool::keep(uint32_t page, uint32_t slot) {
  if (max_kept_ == 0) return;
  HEARTH_CHECK(slots_[slot].holders > 0 && slots_[slot].page == kNoPage && kept_[page] == kNoSlot,
               "a held slot is kept for one page that has none");
  if (kept_count_ == max_kept_) evict(slots_[oldest(Which::kAny)].page);
  kept_[page] = slot;
  slots_[slot].page = page;
  slots_[slot].settled = false;
  slots_[slot].used = ++uses_;
  ++kept_count_;
}

void StatePool::settle(uint32_t page) {
  if (find(page) != kNoSlot) slots_[kept_[page]].settled = true;
}

void StatePool::forget(uint32_t page) {
  const uint32_t slot = find(page);
  if (slot == kNoSlot) return;
  kept_[page] = kNoSlot;
  slots_[slot].page = kNoPage;
  --kept_count_;
  if (slots_[slot].holders == 0) free_.push_back(slot);
}

void StatePool::forget_passing(uint32_t page) {
  if (find(page) != kNoSlot && !slots_[kept_[page]].settled) forget(page);
}

void StatePool::evict(uint32_t page) {
  if (find(page) != kNoSlot) ++evictions_;
  forget(page);
}

void StatePool::forget_slot(uint32_t slot) {
  if (slots_[slot].page != kNoPage) evict(slots_[slot].page);
}

uint32_t StatePool::oldest(Which which) const {
  uint32_t found = kNoSlot;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const Slot& one = slots_[slot];
    if (one.page == kNoPage || (which == Which::kUnheld && one.holders > 0)) continue;
    if (found == kNoSlot || one.used < slots_[found].used) found = slot;
  }
  return found;
}

}  // namespace hearth
