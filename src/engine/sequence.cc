#include "engine/sequence.h"

#include <algorithm>

#include "base/check.h"
#include "graph/step_view.h"

namespace hearth {

uint32_t Sequence::expanded_of(size_t page) const {
  return expanded_part(expanded_, static_cast<uint32_t>(page) * kPagePositions, kPagePositions);
}

bool Sequence::must_copy() const {
  return pool_->keeps_pages() && length() % kPagePositions != 0 &&
         !pool_->is_private(pages_.back());
}

uint32_t Sequence::pages_needed(uint32_t count) const {
  if (count == 0 || !pool_->keeps_pages()) return 0;
  return pages_for(length() + count) - static_cast<uint32_t>(pages_.size()) + must_copy();
}

void Sequence::grow(std::span<const int32_t> tokens) {
  auto count = static_cast<uint32_t>(tokens.size());
  bool copies = count > 0 && must_copy();
  uint32_t needed = pages_needed(count);
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
  if (count > 0 && needs_slot()) slot_ = states_->take();
}

void Sequence::truncate(uint32_t length) {
  if (slot_ != kNoSlot && (length == 0 || length < tokens_.size())) {
    length = 0;
    states_->release(slot_);
    slot_ = kNoSlot;
  }
  cut_for_timing(length);
}

void Sequence::cut_for_timing(uint32_t length) {
  HEARTH_CHECK(length <= tokens_.size(), "a sequence is cut, not stretched");
  tokens_.resize(length);
  while (pages_.size() > pages_for(length)) {
    pool_->release(pages_.back());
    pages_.pop_back();
  }
  published_ = std::min(published_, length / kPagePositions);
}

std::unique_ptr<Sequence> Sequence::fork() {
  auto other = std::make_unique<Sequence>(*pool_, expanded_, states_);
  if (slot_ != kNoSlot) {
    if (states_->free_count() == 0) return other;
    other->slot_ = states_->take();
    states_->copy(slot_, other->slot_);
  }
  publish();
  other->tokens_ = tokens_;
  other->pages_ = pages_;
  for (uint32_t page : pages_) pool_->share(page);
  other->published_ = published_;
  return other;
}

uint32_t Sequence::adopt_prefix(std::span<const int32_t> tokens) {
  uint32_t before = length();
  if (!pool_->keeps_pages() || states_ != nullptr || before % kPagePositions != 0) return 0;
  publish();
  uint32_t parent = pages_.empty() ? KvPool::kNoPage : pages_.back();
  while (tokens_.size() + kPagePositions < tokens.size()) {
    std::span<const int32_t> next = tokens.subspan(tokens_.size(), kPagePositions);
    uint32_t page = pool_->find(parent, next, expanded_of(pages_.size()));
    if (page == KvPool::kNoPage) break;
    tokens_.insert(tokens_.end(), next.begin(), next.end());
    pages_.push_back(page);
    pool_->share(page);
    parent = page;
  }
  published_ = static_cast<uint32_t>(pages_.size());
  return length() - before;
}

void Sequence::publish() {
  if (!pool_->keeps_pages() || states_ != nullptr) return;
  for (; published_ < length() / kPagePositions; ++published_) {
    uint32_t parent = published_ == 0 ? KvPool::kNoPage : pages_[published_ - 1];
    std::span<const int32_t> tokens =
        std::span(tokens_).subspan(size_t{published_} * kPagePositions, kPagePositions);
    uint32_t& page = pages_[published_];
    const uint32_t expanded = expanded_of(published_);
    uint32_t known = pool_->find(parent, tokens, expanded);
    if (known == KvPool::kNoPage) {
      pool_->file(page, parent, tokens, expanded);
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
