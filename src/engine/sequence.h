// A Sequence holds one sequence's tokens and the memory kept for them: the pages of their keys and
// values and, in a model that keeps states, the slot of the state after its last token. A state
// tells nothing about earlier positions. So such a sequence begins or goes back only where a state
// is kept (engine/state_pool.h): at the beginning, and at the ends of some full pages.
//
// If only some layers see a window, the sequence also holds window pages (engine/window_pool.h),
// from the window's first one on. Earlier ones are given back. So such a sequence, too, begins or
// goes back only where it has the pages of the window or finds them kept. No model has both states
// and windows.
//
// Pages may be shared with other sequences and with the pool's prefix cache. A shared page is
// copied before this sequence writes to it. Slots may be shared too, but are not copied: a step
// reads the shared slot and writes another. Used by the thread that owns the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kv_pool.h"
#include "engine/state_pool.h"
#include "engine/window_pool.h"

namespace hearth {

// Pages of each kind (graph/step_view.h).
struct PageCounts {
  uint32_t full = 0, window = 0;

  PageCounts& operator+=(const PageCounts& more) {
    full += more.full;
    window += more.window;
    return *this;
  }
  bool fit(const PageCounts& room) const { return full <= room.full && window <= room.window; }
};

// The slots that a step reads a sequence's state from and writes it to; kNoSlot: none yet.
struct StateMove {
  uint32_t from = kNoSlot, to = kNoSlot;
};

// The forms (PageForm) of a sequence's positions, fixed in advance. Neither steps nor passes change
// them.
struct SequenceForms {
  uint32_t expanded = 0;  // the number of its first positions that are expanded
  // The number of its first positions, whole pages, with bits of an accelerator that the cores do
  // not give: they are streamed.
  uint32_t streamed = 0;
};

class Sequence {
 public:
  // `states` is for a model with states, `windows` for one with window pages. They must outlive the
  // sequence.
  explicit Sequence(KvPool& pool, const SequenceForms& forms = {}, StatePool* states = nullptr,
                    WindowPool* windows = nullptr)
      : pool_(&pool), states_(states), windows_(windows), forms_(forms) {}
  ~Sequence() { truncate(0); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<uint32_t>& pages() const { return pages_; }
  // Returns as many pages as pages(), with any number for those that were given back; empty if all
  // layers see all positions.
  const std::vector<uint32_t>& window_pages() const { return window_pages_; }
  // Returns the first of the window pages that is held.
  uint32_t window_begin() const { return window_begin_; }
  uint32_t expanded() const { return forms_.expanded; }
  uint32_t streamed() const { return forms_.streamed; }
  // Returns whether its next position must be streamed, since the cores would give it other bits.
  bool must_stream() const { return length() < forms_.streamed; }
  // Lets the cores compute all positions from the current length on, including those that should
  // have been streamed. These then have the bits that the cores give, not those of the accelerator.
  void leave_to_cores();
  PageForm form_of(size_t page) const;
  // Returns the slot of its state; kNoSlot if it has no tokens yet, or no states are kept.
  uint32_t slot() const { return slot_; }
  // Returns whether grow() claims a place for its state.
  bool needs_place() const { return states_ != nullptr && slot_ == kNoSlot; }
  // Returns whether grow() would need another slot and find none.
  bool lacks_slot() const;

  // Returns how many pages it holds, including those that passes fill.
  PageCounts held_pages() const;
  // Returns how many pages `count` more tokens take from the pools, including copies of shared last
  // pages.
  PageCounts pages_needed(uint32_t count) const;
  // Returns how many more pages it will hold when it has `length` tokens.
  PageCounts pages_lacking(uint32_t length) const;
  // Makes room for `tokens`, and adds them to its tokens. The pools must have pages_needed()
  // available. With states, a place must be free if needs_place(), and lacks_slot() must be false.
  // The caller computes their keys and values, and the state as the move says. Then it calls
  // finish_step() or undo_step().
  StateMove grow(std::span<const int32_t> tokens);
  // Releases the state slot that the step read, if it wrote to another.
  void finish_step();
  // Gives back window pages that no later token sees.
  void give_back();
  // Marks the window at `length` tokens, whole pages, as wanted: other sequences may begin there,
  // for instance where this sequence left a path that others share.
  void want_window(uint32_t length);

  // Do the same as pages_needed() and grow() for tokens whose pages passes fill in order
  // (hybrid/streamer.h). No pass writes to positions before the window of its last position. So
  // window pages are filled in turn, as many as a window needs.
  PageCounts pages_needed_by_passes(uint32_t count) const;
  StateMove grow_for_passes(std::span<const int32_t> tokens);
  // Notes that passes have filled all of its pages.
  void finish_passes();

  // Takes back a step that was not computed: goes back to the `length` tokens before it. If the
  // state at that length was overwritten, goes further back like truncate().
  void undo_step(uint32_t length);
  // Forgets all but the first `length` tokens, and releases pages that are no longer needed. In a
  // model with states, if `length` is not its own, it goes back further to a kept state, at the end
  // of one of its full pages or at the beginning; the tokens after that are computed again. It also
  // goes back further if the window pages that it needs are neither its own nor kept.
  void truncate(uint32_t length);
  // Does the same as truncate(), but only for measuring times: the state does not change, though it
  // belongs to another length, and window pages may hold anything.
  void cut_for_timing(uint32_t length);
  // Returns a sequence of the same tokens, which shares all pages and the state. Publishes first,
  // since full pages that two sequences hold are always filed. If no place is left for a state, the
  // new sequence has no tokens.
  std::unique_ptr<Sequence> fork();

  // Takes the pages that the pool keeps of the next tokens, and adds those tokens to its own. This
  // sequence must hold a beginning of `tokens` in whole pages, or nothing yet. With states it takes
  // pages up to the last one that has a state; with windows, up to the last one after which a
  // window is kept. At least one token is left to compute, since only a computed token gives
  // logits. Returns the number of tokens taken.
  uint32_t adopt_prefix(std::span<const int32_t> tokens);
  // Returns how many tokens the pool had pages of at the last adopt_prefix(): at least as many as
  // were taken.
  uint32_t known() const { return known_; }
  // Files the full pages, with the window pages that it holds, for other sequences to adopt, unless
  // that needs states and none may be kept. Their keys and values must have been computed.
  void publish();
  // Keeps the state for sequences that come to its last page, if that is full and published. A
  // passing state (not `lasting`) is dropped when this sequence keeps another. A lasting one thins
  // the states before it on its path: of all at a distance of 2^i to 2^(i + 1) pages the nearest
  // stays, and so does each at which paths part.
  void keep_state(bool lasting);

 private:
  bool keeps_states() const { return states_ != nullptr && states_->max_kept() > 0; }
  // Returns whether the next token falls into a page that other sequences see.
  bool must_copy() const;
  bool must_copy_window() const;
  uint32_t more_pages(uint32_t count) const;
  // Adds pages and tokens. The first `ring` new window pages are taken from the pool; each later
  // one repeats the page `ring` before it.
  StateMove add(std::span<const int32_t> tokens, uint32_t ring);
  void cut(uint32_t length);
  // Returns whether the window pages that `length` tokens need are there. `behind`: pages of the
  // tree that follow its own.
  bool has_window(uint32_t length, std::span<const uint32_t> behind = {}) const;
  void give_back_before(uint32_t begin);
  // Takes the window page that is kept beside a page of the tree.
  uint32_t take_window_page(uint32_t tree_page);
  void take_window_back();
  void adopt_window(std::span<const uint32_t> found);
  void file_window_page(uint32_t index);
  StateMove own_slot();
  // Holds `slot`, which is already held or kept, in place of its own slot.
  void take_state(uint32_t slot);
  void drop_state();
  uint32_t back_to_state(uint32_t length);
  std::vector<uint32_t> find_pages(std::span<const int32_t> tokens) const;
  void thin_states();

  KvPool* pool_;
  StatePool* states_;
  WindowPool* windows_;
  SequenceForms forms_;
  uint32_t slot_ = kNoSlot;
  uint32_t read_ = kNoSlot;  // the other slot that the step under way reads
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> pages_;
  uint32_t published_ = 0;  // pages at the beginning that are filed
  uint32_t passing_ = 0;    // number of its pages up to the one with its passing state; 0: none
  uint32_t known_ = 0;
  std::vector<uint32_t> window_pages_;
  uint32_t window_begin_ = 0;
  std::vector<uint32_t> wanted_;  // lengths whose windows other sequences may want
  // The index of its first page that takes turns while passes fill pages, and the number of window
  // pages that take turns from there on; 0: none do.
  uint32_t ring_begin_ = 0, ring_ = 0;
};

}  // namespace hearth
