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

KvPool::KvPool(uint32_t page_count, CopyPage copy)
    : PageStock(page_count, std::move(copy)), pages_(page_count) {}

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
  HEARTH_CHECK(is_held(page) && !is_kept(page) && tokens.size() == kPagePositions,
               "a held, full page is filed once");
  HEARTH_CHECK(parent == kNoPage || (is_kept(parent) && is_held(parent)),
               "the page before it is filed and held");
  filed.key = key_of(parent, tokens, form);
  by_key_.emplace(filed.key, page);
  keep(page);
  filed.parent = parent;
  filed.form = form;
  std::ranges::copy(tokens, filed.tokens.begin());
  if (parent != kNoPage) ++pages_[parent].children;
}

void KvPool::forget(uint32_t page) {
  const Page& evicted = pages_[page];
  HEARTH_CHECK(evicted.children == 0, "pages behind it were let go before it");
  auto [begin, end] = by_key_.equal_range(evicted.key);
  by_key_.erase(std::find_if(begin, end, [page](auto& entry) { return entry.second == page; }));
  if (evicted.parent != kNoPage) --pages_[evicted.parent].children;
  if (on_evict_) on_evict_(page);
}

}  // namespace hearth
