#include "engine/sequence.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "graph/step_view.h"

namespace hearth {

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
  return pool_->keeps_pages() && length() % kPagePositions != 0 &&
         !pool_->is_private(pages_.back());
}

uint32_t Sequence::pages_needed(uint32_t count) const {
  if (count == 0 || !pool_->keeps_pages()) return 0;
  return pages_for(length() + count) - static_cast<uint32_t>(pages_.size()) + must_copy();
}

bool Sequence::lacks_slot() const {
  if (states_ == nullptr || (slot_ != kNoSlot && states_->is_only_holder(slot_))) return false;
  return !states_->can_take();
}

StateMove Sequence::grow(std::span<const int32_t> tokens) {
  auto count = static_cast<uint32_t>(tokens.size());
  bool copies = count > 0 && must_copy();
  uint32_t needed = pages_needed(count);
  const bool first = tokens_.empty();
  // What may throw comes first, so that no page is lost.
  pages_.reserve(pages_.size() + needed);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  if (copies) {
    uint32_t copy = pool_->take();
    pool_->copy(pages_.back(), copy);
    pool_->release(pages_.back());
    pages_.back() = copy;
    --needed;
  }
  for (; needed > 0; --needed) pages_.push_back(pool_->take());
  if (count == 0 || states_ == nullptr) return {};
  const StateMove move = own_slot();
  return {first ? kNoSlot : move.from, move.to};
}

// Its state is read from where it is, and written to where nobody else reads.
StateMove Sequence::own_slot() {
  HEARTH_CHECK(read_ == kNoSlot, "the step before has been finished");
  if (slot_ == kNoSlot) {
    slot_ = states_->take();
    states_->claim();
    return {kNoSlot, slot_};
  }
  if (states_->is_private(slot_)) return {slot_, slot_};
  // Where slots are short, a kept state is written over that nobody else has taken.
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
  cut_for_timing(length);
}

// Takes the last state that is kept on its path up to `length`; returns where that is.
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
  HEARTH_CHECK(length <= tokens_.size(), "a sequence is cut, not stretched");
  tokens_.resize(length);
  while (pages_.size() > pages_for(length)) {
    pool_->release(pages_.back());
    pages_.pop_back();
  }
  published_ = std::min(published_, length / kPagePositions);
  if (passing_ > published_) passing_ = 0;
}

std::unique_ptr<Sequence> Sequence::fork() {
  auto other = std::make_unique<Sequence>(*pool_, forms_, states_);
  if (slot_ != kNoSlot && states_->free_places() == 0) return other;
  publish();
  other->tokens_ = tokens_;
  other->pages_ = pages_;
  for (uint32_t page : pages_) pool_->share(page);
  other->published_ = published_;
  other->known_ = known_;
  if (slot_ != kNoSlot) other->take_state(slot_);
  return other;
}

// The pages that the pool keeps of the tokens behind its own.
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
    // Others went on from there: paths part.
    if (!found.empty() && found.size() == all && pool_->has_children(found.back())) {
      states_->settle(found.back());
    }
  }
  if (found.empty()) return 0;
  const size_t count = found.size() * kPagePositions;
  pages_.reserve(pages_.size() + found.size());
  const std::span<const int32_t> taken = tokens.subspan(before, count);
  tokens_.insert(tokens_.end(), taken.begin(), taken.end());
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
    // By the numerical contract both are the same, so one is enough.
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
      // By the numerical contract both pages hold the same bytes, so one copy is enough; and
      // whoever holds a page holds the page before it.
      pool_->share(known);
      pool_->release(page);
      page = known;
    }
  }
}

}  // namespace hearth
