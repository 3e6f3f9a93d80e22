// A Sequence holds one sequence's tokens and what is kept of them: the pages that hold their keys
// and values, and of a model that keeps states the slot of its own. A state says nothing of what
// was before it, so such a sequence takes no prefix that others computed, and forgets all or
// nothing.
//
// Pages may be shared with other sequences and with the pool's prefix cache; one that is shared is
// copied before this sequence writes to it. Used by the thread that owns the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kv_pool.h"
#include "engine/state_pool.h"

namespace hearth {

class Sequence {
 public:
  // `expanded`: of a model with latents, the rows of so many positions, the first ones, are
  // expanded (graph/ops/latent.h), whatever step they come in.
  // `states`: of a model that keeps some; they outlive the sequence.
  explicit Sequence(KvPool& pool, uint32_t expanded = 0, StatePool* states = nullptr)
      : pool_(&pool), states_(states), expanded_(expanded) {}
  ~Sequence() { truncate(0); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<uint32_t>& pages() const { return pages_; }
  uint32_t expanded() const { return expanded_; }
  // Of its state; kNoSlot where it has no tokens yet, or no states are kept.
  uint32_t slot() const { return slot_; }
  // Whether grow() takes a slot.
  bool needs_slot() const { return states_ != nullptr && slot_ == kNoSlot; }

  // Returns how many pages `count` more tokens take from the pool, a copy of a shared last page
  // included.
  uint32_t pages_needed(uint32_t count) const;
  // Makes room for `tokens` and counts them in. The pool must have pages_needed() available, and a
  // slot, where one is needed. The caller computes their keys and values, or truncates.
  void grow(std::span<const int32_t> tokens);
  // Forgets all but the first `length` tokens; pages no longer needed are let go. Where states are
  // kept it forgets all tokens, unless `length` is its own: what is still wanted is computed again.
  void truncate(uint32_t length);
  // The same for who measures time alone: a state stays as it is, whatever it is of.
  void cut_for_timing(uint32_t length);
  // Returns a sequence of the same tokens, which shares all pages. Publishes first, since full
  // pages that two sequences hold are always filed. It has a copy of the state; where no slot is
  // left for that, it has no tokens.
  std::unique_ptr<Sequence> fork();

  // If this sequence holds a beginning of `tokens` in whole pages (or nothing yet), it takes the
  // pages that the pool keeps of the tokens that follow, and counts those tokens in. At least one
  // token is left to compute, since only a computed token gives logits. Returns the number of
  // tokens taken.
  uint32_t adopt_prefix(std::span<const int32_t> tokens);
  // Files the full pages for others to adopt, where no states are kept. Their keys and values have
  // been computed.
  void publish();

 private:
  // How many positions of a page are expanded.
  uint32_t expanded_of(size_t page) const;
  // Tells whether the next token falls into a page that others see.
  bool must_copy() const;

  KvPool* pool_;
  StatePool* states_;
  uint32_t expanded_;
  uint32_t slot_ = kNoSlot;
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> pages_;
  uint32_t published_ = 0;  // pages at the beginning that are filed
};

}  // namespace hearth
