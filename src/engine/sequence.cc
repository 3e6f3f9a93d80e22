#include "engine/sequence.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "graph/step_view.h"

namespace hearth {
namespace {

// Returns whether the page of the next token is begun and seen by other sequences.
bool shares_last(const PageStock& stock, const std::vector<uint32_t>& pages, uint32_t length) {
  return length % kPagePositions != 0 && !stock.is_private(pages.back());
}

void take_copy(PageStock& stock, uint32_t* page) {
  const uint32_t copy = stock.take();
  stock.copy(*page, copy);
  stock.release(*page);
  *page = copy;
}

}  // namespace

PageForm Sequence::form_of(size_t page) const {
  const auto first = static_cast<uint32_t>(page) * kPagePositions;
  const bool streamed = first < forms_.streamed;
  return {expanded_part(forms_.expanded, first, kPagePositions),
          streamed ? PageForm::Maker::kAccelerator : PageForm::Maker::kCores};
}

void Sequence::leave_to_cores() {
  if (!must_stream()) return;
  HEARTH_CHECK(length() % kPagePositions == 0, "streamed pages are whole");
  forms_.streamed = length();
}

bool Sequence::must_copy() const {
  return pool_->keeps_pages() && shares_last(*pool_, pages_, length());
}

bool Sequence::must_copy_window() const {
  return windows_ != nullptr && shares_last(*windows_, window_pages_, length());
}

uint32_t Sequence::more_pages(uint32_t count) const {
  if (count == 0 || !pool_->keeps_pages()) return 0;
  return pages_for(length() + count) - static_cast<uint32_t>(pages_.size());
}

PageCounts Sequence::held_pages() const {
  const auto size = static_cast<uint32_t>(pages_.size());
  if (windows_ == nullptr) return {size, 0};
  const uint32_t turns = ring_ == 0 ? 0 : size - ring_begin_;  // pages that passes fill in turn
  return {size, size - window_begin_ - turns + std::min(turns, ring_)};
}

PageCounts Sequence::pages_needed(uint32_t count) const {
  if (count == 0) return {};
  const uint32_t more = more_pages(count);
  return {more + must_copy(), windows_ == nullptr ? 0 : more + must_copy_window()};
}

PageCounts Sequence::pages_lacking(uint32_t length) const {
  const auto lacking = [](uint32_t wanted, uint32_t held) {
    return wanted - std::min(wanted, held);
  };
  const auto held = static_cast<uint32_t>(pages_.size());
  PageCounts pages{lacking(pages_for(length), held)};
  if (windows_ != nullptr) {
    pages.window = lacking(windows_->max_held(length), held - window_begin_);
  }
  return pages;
}

bool Sequence::lacks_slot() const {
  if (states_ == nullptr || (slot_ != kNoSlot && states_->is_only_holder(slot_))) return false;
  return !states_->can_take();
}

StateMove Sequence::grow(std::span<const int32_t> tokens) { return add(tokens, UINT32_MAX); }

StateMove Sequence::add(std::span<const int32_t> tokens, uint32_t ring) {
  if (tokens.empty()) return {};
  const bool first = tokens_.empty();
  const bool copies = must_copy(), copies_window = must_copy_window();
  const uint32_t more = more_pages(static_cast<uint32_t>(tokens.size()));
  // Calls that may throw come first, so that no page is lost.
  pages_.reserve(pages_.size() + more);
  if (windows_ != nullptr) window_pages_.reserve(pages_.size() + more);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  if (copies) take_copy(*pool_, &pages_.back());
  if (copies_window) take_copy(*windows_, &window_pages_.back());
  for (uint32_t i = 0; i < more; ++i) {
    pages_.push_back(pool_->take());
    if (windows_ == nullptr) continue;
    window_pages_.push_back(i < ring ? windows_->take() : *(window_pages_.end() - ring));
  }
  if (states_ == nullptr) return {};
  const StateMove move = own_slot();
  return {first ? kNoSlot : move.from, move.to};
}

PageCounts Sequence::pages_needed_by_passes(uint32_t count) const {
  PageCounts needed = pages_needed(count);
  if (windows_ == nullptr) return needed;
  const uint32_t more = more_pages(count), ring = max_window_pages(windows_->window());
  needed.window -= more - std::min(more, ring);
  return needed;
}

StateMove Sequence::grow_for_passes(std::span<const int32_t> tokens) {
  if (windows_ == nullptr) return grow(tokens);
  HEARTH_CHECK(ring_ == 0, "passes fill one run of pages at a time");
  const auto begin = static_cast<uint32_t>(pages_.size());
  const uint32_t ring = max_window_pages(windows_->window());
  const StateMove move = add(tokens, ring);
  ring_begin_ = begin;
  ring_ = ring;
  return move;
}

void Sequence::finish_passes() {
  const auto size = static_cast<uint32_t>(pages_.size());
  if (ring_ > 0 && size > ring_begin_ + ring_) {
    // The `ring_` window pages that passes filled in turn now hold the last positions.
    give_back_before(ring_begin_);
    window_begin_ = size - ring_;
  }
  ring_ = 0;
  // Pages before the window were not filled.
  give_back();
}

void Sequence::give_back_before(uint32_t begin) {
  for (; window_begin_ < begin; ++window_begin_) {
    const uint32_t page = window_pages_[window_begin_];
    for (uint32_t length : wanted_) {
      const bool in = window_begin_ < length / kPagePositions;
      if (in && window_begin_ >= windows_->first_held(length)) windows_->want(page);
    }
    windows_->give_back(page);
  }
}

void Sequence::give_back() {
  if (windows_ != nullptr) give_back_before(windows_->first_held(length()));
}

void Sequence::want_window(uint32_t length) {
  if (windows_ == nullptr || std::ranges::find(wanted_, length) != wanted_.end()) return;
  wanted_.push_back(length);
}

bool Sequence::has_window(uint32_t length, std::span<const uint32_t> behind) const {
  const auto own = static_cast<uint32_t>(pages_.size());
  for (uint32_t i = first_window_page(windows_->window(), length); i < pages_for(length); ++i) {
    if (i < own && i >= window_begin_) continue;
    if (i < own && i >= published_) return false;
    if (windows_->find(i < own ? pages_[i] : behind[i - own]) == KvPool::kNoPage) return false;
  }
  return true;
}

uint32_t Sequence::take_window_page(uint32_t tree_page) {
  const uint32_t page = windows_->find(tree_page);
  windows_->share(page);
  return page;
}

// Takes back window pages that it gave back, if they are still kept.
void Sequence::take_window_back() {
  const uint32_t begin = windows_->first_held(length());
  while (window_begin_ > begin) {
    const uint32_t tree_page = pages_[window_begin_ - 1];
    if (windows_->find(tree_page) == KvPool::kNoPage) return;
    window_pages_[--window_begin_] = take_window_page(tree_page);
  }
}

// Returns the slot to read its state from, and the slot to write it to, which no other sequence
// reads.
StateMove Sequence::own_slot() {
  HEARTH_CHECK(read_ == kNoSlot, "the step before has been finished");
  if (slot_ == kNoSlot) {
    slot_ = states_->take();
    states_->claim();
    return {kNoSlot, slot_};
  }
  if (states_->is_private(slot_)) return {slot_, slot_};
  // If slots are short, a kept state that no other sequence holds is overwritten.
  if (!states_->can_take()) {
    states_->forget_slot(slot_);
    if (states_->is_private(slot_)) return {slot_, slot_};
  }
  read_ = slot_;
  slot_ = states_->take();
  return {read_, slot_};
}

void Sequence::finish_step() {
  if (read_ != kNoSlot) states_->release(read_);
  read_ = kNoSlot;
}

void Sequence::undo_step(uint32_t length) {
  if (read_ == kNoSlot) {
    truncate(length);
    return;
  }
  states_->release(slot_);
  slot_ = read_;
  read_ = kNoSlot;
  cut_for_timing(length);
}

void Sequence::take_state(uint32_t slot) {
  states_->share(slot);
  if (slot_ == kNoSlot) {
    states_->claim();
  } else {
    states_->release(slot_);
  }
  slot_ = slot;
}

void Sequence::drop_state() {
  finish_step();
  states_->release(slot_);
  states_->give_up();
  slot_ = kNoSlot;
}

void Sequence::truncate(uint32_t length) {
  if (slot_ != kNoSlot && (length == 0 || length < tokens_.size())) length = back_to_state(length);
  while (windows_ != nullptr && length > 0 && !has_window(length)) {
    length = (length - 1) / kPagePositions * kPagePositions;
  }
  cut(length);
  if (windows_ != nullptr) take_window_back();
}

// Takes the last state that is kept on its path up to `length`, and returns its length.
uint32_t Sequence::back_to_state(uint32_t length) {
  uint32_t pages = std::min(published_, length / kPagePositions);
  while (pages > 0 && states_->find(pages_[pages - 1]) == kNoSlot) --pages;
  if (pages == 0) {
    drop_state();
    return 0;
  }
  finish_step();
  take_state(states_->find(pages_[pages - 1]));
  states_->use(pages_[pages - 1]);
  return pages * kPagePositions;
}

void Sequence::cut_for_timing(uint32_t length) {
  cut(length);
  while (windows_ != nullptr && window_begin_ > windows_->first_held(length) &&
         windows_->available() > 0) {
    window_pages_[--window_begin_] = windows_->take();
  }
}

void Sequence::cut(uint32_t length) {
  HEARTH_CHECK(length <= tokens_.size(), "a sequence is cut, not stretched");
  HEARTH_CHECK(ring_ == 0 || pages_for(length) <= ring_begin_, "passes have let go");
  tokens_.resize(length);
  while (pages_.size() > pages_for(length)) {
    pool_->release(pages_.back());
    pages_.pop_back();
    if (windows_ == nullptr) continue;
    const auto index = static_cast<uint32_t>(pages_.size());
    const bool in_turn = ring_ > 0 && index >= ring_begin_ + ring_;
    if (index >= window_begin_ && !in_turn) windows_->release(window_pages_.back());
    window_pages_.pop_back();
  }
  window_begin_ = std::min(window_begin_, static_cast<uint32_t>(pages_.size()));
  ring_ = 0;
  published_ = std::min(published_, length / kPagePositions);
  if (passing_ > published_) passing_ = 0;
}

std::unique_ptr<Sequence> Sequence::fork() {
  auto other = std::make_unique<Sequence>(*pool_, forms_, states_, windows_);
  if (slot_ != kNoSlot && states_->free_places() == 0) return other;
  publish();
  other->tokens_ = tokens_;
  other->pages_ = pages_;
  for (uint32_t page : pages_) pool_->share(page);
  other->window_pages_ = window_pages_;
  other->window_begin_ = window_begin_;
  for (size_t i = window_begin_; i < window_pages_.size(); ++i) windows_->share(window_pages_[i]);
  other->wanted_ = wanted_;
  other->published_ = published_;
  other->known_ = known_;
  if (slot_ != kNoSlot) other->take_state(slot_);
  return other;
}

// Returns the pages that the pool keeps for the tokens that follow its own.
std::vector<uint32_t> Sequence::find_pages(std::span<const int32_t> tokens) const {
  std::vector<uint32_t> found;
  uint32_t parent = pages_.empty() ? KvPool::kNoPage : pages_.back();
  for (size_t at = tokens_.size(); at + kPagePositions < tokens.size(); at += kPagePositions) {
    parent = pool_->find(parent, tokens.subspan(at, kPagePositions),
                         form_of(pages_.size() + found.size()));
    if (parent == KvPool::kNoPage) break;
    found.push_back(parent);
  }
  return found;
}

uint32_t Sequence::adopt_prefix(std::span<const int32_t> tokens) {
  uint32_t before = length();
  if (!pool_->keeps_pages() || before % kPagePositions != 0) return 0;
  if (states_ != nullptr && !keeps_states()) return 0;
  publish();
  std::vector<uint32_t> found = find_pages(tokens);
  known_ = before + static_cast<uint32_t>(found.size()) * kPagePositions;
  if (states_ != nullptr) {
    if (needs_place() && states_->free_places() == 0) found.clear();
    const size_t all = found.size();
    while (!found.empty() && states_->find(found.back()) == kNoSlot) found.pop_back();
    // Other sequences go on differently after the last page found, so paths part there.
    if (!found.empty() && found.size() == all && pool_->has_children(found.back())) {
      states_->settle(found.back());
    }
  }
  if (windows_ != nullptr) {
    const size_t all = found.size();
    const auto end = [&] { return before + static_cast<uint32_t>(found.size()) * kPagePositions; };
    while (!found.empty() && !has_window(end(), found)) found.pop_back();
    if (found.size() < all) want_window(known_);
  }
  if (found.empty()) return 0;
  const size_t count = found.size() * kPagePositions;
  pages_.reserve(pages_.size() + found.size());
  const std::span<const int32_t> taken = tokens.subspan(before, count);
  if (windows_ != nullptr) window_pages_.reserve(pages_.size() + found.size());
  tokens_.insert(tokens_.end(), taken.begin(), taken.end());
  if (windows_ != nullptr) adopt_window(found);
  for (uint32_t page : found) {
    pages_.push_back(page);
    pool_->share(page);
  }
  published_ = static_cast<uint32_t>(pages_.size());
  if (states_ != nullptr) {
    take_state(states_->find(found.back()));
    states_->use(found.back());
  }
  return static_cast<uint32_t>(count);
}

// Adopts the kept window pages that its tokens now need.
void Sequence::adopt_window(std::span<const uint32_t> found) {
  const auto own = static_cast<uint32_t>(pages_.size());
  const uint32_t begin = windows_->first_held(length());
  give_back_before(std::min(begin, own));
  if (begin < own) take_window_back();
  for (uint32_t i = 0; i < found.size(); ++i) {
    window_pages_.push_back(own + i >= begin ? take_window_page(found[i]) : 0);
  }
  window_begin_ = begin;
}

void Sequence::keep_state(bool lasting) {
  const auto last = static_cast<uint32_t>(pages_.size());
  if (!keeps_states() || slot_ == kNoSlot || last == 0) return;
  if (published_ != last || length() % kPagePositions != 0) return;
  if (passing_ != 0 && passing_ != last) states_->forget_passing(pages_[passing_ - 1]);
  passing_ = lasting ? 0 : last;
  const uint32_t page = pages_.back(), known = states_->find(page);
  if (known == kNoSlot) {
    states_->keep(page, slot_);
  } else {
    // Both states are the same by the numerical contract, so one is enough.
    take_state(known);
    states_->use(page);
  }
  if (!lasting) return;
  states_->settle(page);
  thin_states();
}

void Sequence::thin_states() {
  const auto newest = static_cast<uint32_t>(pages_.size());
  int thinned = -1;
  for (uint32_t pages = newest - 1; pages > 0; --pages) {
    const uint32_t page = pages_[pages - 1];
    if (states_->find(page) == kNoSlot || pool_->branches(page)) continue;
    const int distance = static_cast<int>(std::bit_width(newest - pages));
    if (distance == thinned) states_->forget(page);
    thinned = distance;
  }
}

void Sequence::publish() {
  if (!pool_->keeps_pages() || (states_ != nullptr && !keeps_states())) return;
  for (; published_ < length() / kPagePositions; ++published_) {
    uint32_t parent = published_ == 0 ? KvPool::kNoPage : pages_[published_ - 1];
    std::span<const int32_t> tokens =
        std::span(tokens_).subspan(size_t{published_} * kPagePositions, kPagePositions);
    uint32_t& page = pages_[published_];
    const PageForm form = form_of(published_);
    uint32_t known = pool_->find(parent, tokens, form);
    if (known == KvPool::kNoPage) {
      pool_->file(page, parent, tokens, form);
    } else if (known != page) {
      // Both pages hold the same bytes by the numerical contract, so one copy is enough; and a
      // holder of a page holds the page before it.
      pool_->share(known);
      pool_->release(page);
      page = known;
    }
    if (windows_ != nullptr && published_ >= window_begin_) file_window_page(published_);
  }
}

// Keeps a window page beside its page of the tree.
void Sequence::file_window_page(uint32_t index) {
  uint32_t& page = window_pages_[index];
  const uint32_t known = windows_->find(pages_[index]);
  if (known == KvPool::kNoPage) {
    windows_->keep_beside(pages_[index], page);
  } else if (known != page) {
    windows_->share(known);
    windows_->release(page);
    page = known;
  }
}

}  // namespace hearth
