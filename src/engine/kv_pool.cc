#include "engine/kv_pool.h"

#include <algorithm>

#include "base/check.h"

namespace hearth {
namespace {

// Hashes parent, form and tokens with the finaliser of splitmix64 (Steele, Lea and Flood 2014).
// Tokens are compared where keys agree, so the key decides nothing but speed.
uint64_t key_of(uint32_t parent, std::span<const int32_t> tokens, const PageForm& form) {
  const auto maker = static_cast<uint64_t>(form.maker);
  uint64_t key = parent | uint64_t{form.expanded} << 32 | maker << 48;
  for (int32_t token : tokens) {
    key += 0x9e3779b97f4a7c15u + static_cast<uint32_t>(token);
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    key ^= key >> 31;
  }
  return key;
}

}  // namespace

KvPool::KvPool(uint32_t page_count, CopyPage copy) : copy_(std::move(copy)), pages_(page_count) {
  // The lowest ids are taken first, so a short sequence stays in few pages of memory.
  for (uint32_t page = page_count; page > 0; --page) free_.push_back(page - 1);
}

uint32_t KvPool::take() {
  uint32_t page;
  if (free_.empty()) {
    page = evict();
  } else {
    page = free_.back();
    free_.pop_back();
  }
  pages_[page].holders = 1;
  return page;
}

void KvPool::share(uint32_t page) {
  if (pages_[page].holders++ > 0) return;
  HEARTH_CHECK(pages_[page].filed, "a page that nobody holds is found only where it is filed");
  remove_unused(page);
}

void KvPool::release(uint32_t page) {
  HEARTH_CHECK(page < pages_.size() && pages_[page].holders > 0, "the page is held");
  if (--pages_[page].holders > 0) return;
  if (pages_[page].filed) {
    append_unused(page);
  } else {
    free_.push_back(page);
  }
}

uint32_t KvPool::find(uint32_t parent, std::span<const int32_t> tokens,
                      const PageForm& form) const {
  auto [begin, end] = by_key_.equal_range(key_of(parent, tokens, form));
  for (auto at = begin; at != end; ++at) {
    const Page& page = pages_[at->second];
    if (page.parent == parent && page.form == form && std::ranges::equal(page.tokens, tokens)) {
      return at->second;
    }
  }
  return kNoPage;
}

void KvPool::file(uint32_t page, uint32_t parent, std::span<const int32_t> tokens,
                  const PageForm& form) {
  Page& filed = pages_[page];
  HEARTH_CHECK(filed.holders > 0 && !filed.filed && tokens.size() == kPagePositions,
               "a held, full page is filed once");
  HEARTH_CHECK(parent == kNoPage || (pages_[parent].filed && pages_[parent].holders > 0),
               "the page before it is filed and held");
  filed.key = key_of(parent, tokens, form);
  by_key_.emplace(filed.key, page);
  filed.filed = true;
  filed.parent = parent;
  filed.form = form;
  std::ranges::copy(tokens, filed.tokens.begin());
  if (parent != kNoPage) ++pages_[parent].children;
}

void KvPool::append_unused(uint32_t page) {
  pages_[page].older = newest_unused_;
  pages_[page].newer = kNoPage;
  (newest_unused_ == kNoPage ? oldest_unused_ : pages_[newest_unused_].newer) = page;
  newest_unused_ = page;
  ++unused_count_;
}

void KvPool::remove_unused(uint32_t page) {
  uint32_t older = pages_[page].older, newer = pages_[page].newer;
  (older == kNoPage ? oldest_unused_ : pages_[older].newer) = newer;
  (newer == kNoPage ? newest_unused_ : pages_[newer].older) = older;
  --unused_count_;
}

uint32_t KvPool::evict() {
  HEARTH_CHECK(unused_count_ > 0, "a page was promised");
  uint32_t page = oldest_unused_;
  Page& evicted = pages_[page];
  HEARTH_CHECK(evicted.children == 0, "pages behind it were let go before it");
  remove_unused(page);
  auto [begin, end] = by_key_.equal_range(evicted.key);
  by_key_.erase(std::find_if(begin, end, [page](auto& entry) { return entry.second == page; }));
  if (evicted.parent != kNoPage) --pages_[evicted.parent].children;
  evicted.filed = false;
  if (on_evict_) on_evict_(page);
  ++evictions_;
  return page;
}

}  // namespace hearth
