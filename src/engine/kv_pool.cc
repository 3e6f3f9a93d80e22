#include "engine/kv_pool.h"

#include "base/check.h"

namespace hearth {
namespace {

uint32_t pages_for(uint32_t tokens) { return (tokens + kPagePositions - 1) / kPagePositions; }

}  // namespace

KvPool::KvPool(uint32_t page_count) : page_count_(page_count) {
  // The lowest ids first: a short sequence stays in few pages of memory.
  for (uint32_t page = page_count; page > 0; --page) free_.push_back(page - 1);
}

uint32_t KvPool::take() {
  HEARTH_CHECK(!free_.empty(), "a free page was promised");
  uint32_t page = free_.back();
  free_.pop_back();
  return page;
}

void KvPool::give_back(uint32_t page) {
  HEARTH_CHECK(page < page_count_ && free_.size() < page_count_, "the page was taken here");
  free_.push_back(page);
}

uint32_t Sequence::pages_needed(uint32_t tokens) const {
  return pages_for(length_ + tokens) - static_cast<uint32_t>(pages_.size());
}

void Sequence::grow(uint32_t tokens) {
  for (uint32_t n = pages_needed(tokens); n > 0; --n) pages_.push_back(pool_->take());
  length_ += tokens;
}

void Sequence::truncate(uint32_t length) {
  HEARTH_CHECK(length <= length_, "a sequence is cut, not stretched");
  length_ = length;
  while (pages_.size() > pages_for(length)) {
    pool_->give_back(pages_.back());
    pages_.pop_back();
  }
}

}  // namespace hearth
