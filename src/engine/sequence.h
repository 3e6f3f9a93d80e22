// A Sequence holds one sequence's tokens and what is kept of them: the pages that hold their keys
// and values, and of a model that keeps states the slot of the state behind its last token. A state
// says nothing of what was before it, so such a sequence begins or goes back only where a state is
// kept (engine/state_pool.h): at the beginning, and at the ends of some full pages.
//
// Where some layers see a window alone, it holds window pages beside (engine/window_pool.h): those
// from the window's first one on. What lies behind is given back, so such a sequence, too, begins
// or goes back only where it has the pages of the window or finds them kept. No model has both.
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

// The slots that a step reads a sequence's state from and writes it to; kNoSlot: there is none yet.
struct StateMove {
  uint32_t from = kNoSlot, to = kNoSlot;
};

// The forms (PageForm) of a sequence's positions, fixed in advance: neither the steps nor passes
// that compute them change them.
struct SequenceForms {
  uint32_t expanded = 0;  // how many positions, the first ones, are expanded
  // The number of its first positions, whole pages, that have an accelerator's bits, which the
  // cores do not give: they are streamed.
  uint32_t streamed = 0;
};

class Sequence {
 public:
  // `states`: of a model that keeps some; `windows`: of one that has window pages. They outlive the
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
  // Returns as many pages as pages(), with any number for those that were given back; none where
  // all layers see all positions.
  const std::vector<uint32_t>& window_pages() const { return window_pages_; }
  // Returns the first of the window pages that is held.
  uint32_t window_begin() const { return window_begin_; }
  uint32_t expanded() const { return forms_.expanded; }
  uint32_t streamed() const { return forms_.streamed; }
  // Whether its next position must be streamed, since the cores give it other bits.
  bool must_stream() const { return length() < forms_.streamed; }
  // Lets the cores compute it from here on, with their bits, though it was to be streamed.
  void leave_to_cores();
  PageForm form_of(size_t page) const;
  // Returns the slot of its state; kNoSlot where it has no tokens yet, or no states are kept.
  uint32_t slot() const { return slot_; }
  // Whether grow() claims a place for its state.
  bool needs_place() const { return states_ != nullptr && slot_ == kNoSlot; }
  // Whether grow() would need another slot, and finds none.
  bool lacks_slot() const;

  // Returns how many pages it holds, those that passes fill included.
  PageCounts held_pages() const;
  // Returns how many pages `count` more tokens take from the pools, copies of shared last pages
  // included.
  PageCounts pages_needed(uint32_t count) const;
  // Returns how many more pages it will hold when it has `length` tokens.
  PageCounts pages_lacking(uint32_t length) const;
  // Makes room for `tokens` and counts them in. The pools must have pages_needed() available, and
  // where states are kept a place must be free if it needs one, and no slot be lacking. The caller
  // computes their keys and values, and the state, as the move says, and then calls finish_step();
  // or undo_step().
  StateMove grow(std::span<const int32_t> tokens);
  // Releases the state slot that the step read, where it wrote to another.
  void finish_step();
  // Gives back window pages that no token to come sees anything of.
  void give_back();
  // Says that others may want to begin where it has `length` tokens, whole pages, as they may where
  // it left a path that others share.
  void want_window(uint32_t length);

  // The same as pages_needed() and grow(), for tokens whose pages passes fill in order before it
  // goes on (hybrid/streamer.h): what lies behind the window of a pass's end is never written. So
  // window pages take turns, as many as a window needs.
  PageCounts pages_needed_by_passes(uint32_t count) const;
  StateMove grow_for_passes(std::span<const int32_t> tokens);
  // Says that passes have filled all of its pages.
  void finish_passes();

  // Takes back a step that was not computed: goes back to the `length` tokens before it, or, where
  // the state at that length was overwritten, further back as truncate() does.
  void undo_step(uint32_t length);
  // Forgets all but the first `length` tokens; pages no longer needed are let go. Where states are
  // kept, and `length` is not its own, it goes on back to where one is, at the end of one of its
  // full pages or at the beginning: what is still wanted behind that is computed again. So it does
  // where the window pages that it needs are neither its own nor kept.
  void truncate(uint32_t length);
  // Does as truncate() for measuring times alone: the state stays as it is, though it belongs to
  // another length, and window pages may hold anything.
  void cut_for_timing(uint32_t length);
  // Returns a sequence of the same tokens, which shares all pages and the state. Publishes first,
  // since full pages that two sequences hold are always filed. Where no place is left for a state,
  // it has no tokens.
  std::unique_ptr<Sequence> fork();

  // Takes the pages that the pool keeps of the tokens that follow, if this sequence holds a
  // beginning of `tokens` in whole pages (or nothing yet): where states are kept up to the last one
  // that has a state, where there are windows to the last behind which one is there. It counts
  // those tokens in. At least one token is left to compute, since only a computed token gives
  // logits. Returns the number of tokens taken.
  uint32_t adopt_prefix(std::span<const int32_t> tokens);
  // Returns how many tokens the pool had pages of at the last adopt_prefix(); at least as many as
  // were taken.
  uint32_t known() const { return known_; }
  // Files the full pages for others to adopt, with the window pages that it holds, unless states
  // are needed for that and none may be kept. Their keys and values have been computed.
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
  bool must_copy_window() const;
  uint32_t more_pages(uint32_t count) const;
  // Adds pages and tokens. The first `ring` new window pages are taken; each later one is the page
  // `ring` before it again.
  StateMove add(std::span<const int32_t> tokens, uint32_t ring);
  void cut(uint32_t length);
  // Whether the window pages are there that `length` tokens need; `behind`: pages of the tree that
  // follow its own.
  bool has_window(uint32_t length, std::span<const uint32_t> behind = {}) const;
  void give_back_before(uint32_t begin);
  // Takes the window page that is kept beside a page of the tree.
  uint32_t take_window_page(uint32_t tree_page);
  void take_window_back();
  void adopt_window(std::span<const uint32_t> found);
  void file_window_page(uint32_t index);
  StateMove own_slot();
  // Takes a slot that is held or kept in place of its own.
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
  uint32_t read_ = kNoSlot;  // another slot, which the step under way reads
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> pages_;
  uint32_t published_ = 0;  // pages at the beginning that are filed
  uint32_t passing_ = 0;    // pages up to the one with its passing state; 0: none
  uint32_t known_ = 0;
  std::vector<uint32_t> window_pages_;
  uint32_t window_begin_ = 0;
  std::vector<uint32_t> wanted_;  // lengths whose windows someone may want
  // The first of its pages that take turns while passes fill them, and how many window pages do so
  // from there on; 0: none do.
  uint32_t ring_begin_ = 0, ring_ = 0;
};

}  // namespace hearth
