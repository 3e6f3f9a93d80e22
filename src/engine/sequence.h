// A Sequence holds one sequence's tokens and what is kept of them: the pages that hold their keys
// and values, and of a model that keeps states the slot of the state behind its last token. A state
// says nothing of what was before it, so such a sequence begins or goes back only where a state is
// kept (engine/state_pool.h): at the beginning, and at the ends of some full pages.
//
// Pages may be shared with other sequences and with the pool's prefix cache; one that is shared is
// copied before this sequence writes to it. So may slots; but nothing is copied there: a step reads
// the shared one and writes another. Used by the thread that owns the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kv_pool.h"
#include "engine/state_pool.h"

namespace hearth {

// The slots that a step reads a sequence's state from and writes it to; kNoSlot: there is none yet.
struct StateMove {
  uint32_t from = kNoSlot, to = kNoSlot;
};

// Which of a sequence's positions have which form (PageForm), whatever computes them when.
struct SequenceForms {
  uint32_t expanded = 0;  // so many, the first ones
  // So many, the first ones and whole pages, have an accelerator's bits, which the cores do not
  // give: they are streamed.
  uint32_t streamed = 0;
};

class Sequence {
 public:
  // `states`: of a model that keeps some; they outlive the sequence.
  explicit Sequence(KvPool& pool, const SequenceForms& forms = {}, StatePool* states = nullptr)
      : pool_(&pool), states_(states), forms_(forms) {}
  ~Sequence() { truncate(0); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<uint32_t>& pages() const { return pages_; }
  uint32_t expanded() const { return forms_.expanded; }
  uint32_t streamed() const { return forms_.streamed; }
  // Whether the cores do not give its next position the bits that it is to have.
  bool must_stream() const { return length() < forms_.streamed; }
  // From here on it has the bits of the cores all the same.
  void leave_to_cores();
  PageForm form_of(size_t page) const;
  // Of its state; kNoSlot where it has no tokens yet, or no states are kept.
  uint32_t slot() const { return slot_; }
  // Whether grow() claims a place for its state.
  bool needs_place() const { return states_ != nullptr && slot_ == kNoSlot; }
  // Whether grow() would need another slot, and finds none.
  bool lacks_slot() const;

  // Returns how many pages `count` more tokens take from the pool, a copy of a shared last page
  // included.
  uint32_t pages_needed(uint32_t count) const;
  // Makes room for `tokens` and counts them in. The pool must have pages_needed() available, and
  // where states are kept a place must be free if it needs one, and no slot be lacking. The caller
  // computes their keys and values, and the state, as the move says, and then calls finish_step();
  // or undo_step().
  StateMove grow(std::span<const int32_t> tokens);
  // Lets go of the slot that the step read, where that was another.
  void finish_step();
  // The step was not computed, before which there were `length` tokens: goes back there, or where
  // the state of then is overwritten as truncate() does.
  void undo_step(uint32_t length);
  // Forgets all but the first `length` tokens; pages no longer needed are let go. Where states are
  // kept, and `length` is not its own, it goes on back to where one is, at the end of one of its
  // full pages or at the beginning: what is still wanted behind that is computed again.
  void truncate(uint32_t length);
  // The same for who measures time alone: a state stays as it is, whatever it is of.
  void cut_for_timing(uint32_t length);
  // Returns a sequence of the same tokens, which shares all pages and the state. Publishes first,
  // since full pages that two sequences hold are always filed. Where no place is left for a state,
  // it has no tokens.
  std::unique_ptr<Sequence> fork();

  // If this sequence holds a beginning of `tokens` in whole pages (or nothing yet), it takes the
  // pages that the pool keeps of the tokens that follow, where states are kept up to the last one
  // that has a state, and counts those tokens in. At least one token is left to compute, since only
  // a computed token gives logits. Returns the number of tokens taken.
  uint32_t adopt_prefix(std::span<const int32_t> tokens);
  // How many of these tokens the pool had pages of, then; at least those that it took.
  uint32_t known() const { return known_; }
  // Files the full pages for others to adopt, unless states are needed for that and none may be
  // kept. Their keys and values have been computed.
  void publish();
  // Keeps the state for who comes to its last page, where that is full and published. One that only
  // passes is dropped when this sequence keeps another. A `lasting` one thins those before it on
  // its path: of all at a distance of 2^i to 2^(i + 1) pages the nearest stays, and each at which
  // paths part.
  void keep_state(bool lasting);

 private:
  bool keeps_states() const { return states_ != nullptr && states_->most_kept() > 0; }
  // Tells whether the next token falls into a page that others see.
  bool must_copy() const;
  StateMove own_slot();
  // Takes a slot that is held or kept in place of its own.
  void take_state(uint32_t slot);
  void drop_state();
  uint32_t back_to_state(uint32_t length);
  std::vector<uint32_t> find_pages(std::span<const int32_t> tokens) const;
  void thin_states();

  KvPool* pool_;
  StatePool* states_;
  SequenceForms forms_;
  uint32_t slot_ = kNoSlot;
  uint32_t read_ = kNoSlot;  // another slot, which the step under way reads
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> pages_;
  uint32_t published_ = 0;  // pages at the beginning that are filed
  uint32_t passing_ = 0;    // pages up to that whose state passes; 0: none
  uint32_t known_ = 0;
};

}  // namespace hearth
