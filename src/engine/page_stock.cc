#include "engine/page_stock.h"

#include <utility>

#include "base/check.h"

namespace hearth {

PageStock::PageStock(uint32_t page_count, CopyPage copy)
    : copy_(std::move(copy)), pages_(page_count) {
  // The lowest ids are taken first, so a short sequence stays in few pages of memory.
  for (uint32_t page = page_count; page > 0; --page) free_.push_back(page - 1);
}

uint32_t PageStock::take() {
  if (free_.empty()) {
    HEARTH_CHECK(unused_count_ > 0, "a page was promised");
    const uint32_t oldest = oldest_unused_;
    forget(oldest);
    drop(oldest);
    ++evictions_;
  }
  const uint32_t page = free_.back();
  free_.pop_back();
  pages_[page].holders = 1;
  return page;
}

void PageStock::share(uint32_t page) {
  if (pages_[page].holders++ > 0) return;
  HEARTH_CHECK(pages_[page].kept, "a page that nobody holds is found only where it is kept");
  remove_unused(page);
}

void PageStock::release(uint32_t page, Goes goes) {
  HEARTH_CHECK(page < pages_.size() && pages_[page].holders > 0, "the page is held");
  if (--pages_[page].holders > 0) return;
  if (pages_[page].kept) {
    add_unused(page, goes);
  } else {
    free_.push_back(page);
  }
}

void PageStock::drop(uint32_t page) {
  pages_[page].kept = false;
  if (is_held(page)) return;
  remove_unused(page);
  free_.push_back(page);
}

void PageStock::add_unused(uint32_t page, Goes goes) {
  const bool first = goes == Goes::kFirst;
  pages_[page].older = first ? kNoPage : newest_unused_;
  pages_[page].newer = first ? oldest_unused_ : kNoPage;
  if (first || newest_unused_ == kNoPage) {
    (oldest_unused_ == kNoPage ? newest_unused_ : pages_[oldest_unused_].older) = page;
    oldest_unused_ = page;
  } else {
    pages_[newest_unused_].newer = page;
    newest_unused_ = page;
  }
  ++unused_count_;
}

void PageStock::remove_unused(uint32_t page) {
  uint32_t older = pages_[page].older, newer = pages_[page].newer;
  (older == kNoPage ? oldest_unused_ : pages_[older].newer) = newer;
  (newer == kNoPage ? newest_unused_ : pages_[newer].older) = older;
  --unused_count_;
}

}  // namespace hearth
