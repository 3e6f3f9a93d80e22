#include "engine/window_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "graph/step_view.h"

namespace hearth {

WindowPool::WindowPool(uint32_t window, uint32_t page_count, uint32_t tree_pages, CopyPage copy)
    : PageStock(page_count, std::move(copy)),
      window_(window),
      beside_(tree_pages, kNoPage),
      tree_page_(page_count, kNoPage),
      wanted_(page_count, false) {}

uint32_t WindowPool::max_held(uint32_t length) const {
  return std::min(pages_for(length), max_window_pages(window_));
}

uint32_t WindowPool::first_held(uint32_t length) const {
  return first_window_page(window_, length / kPagePositions * kPagePositions);
}

void WindowPool::keep_beside(uint32_t tree_page, uint32_t page) {
  HEARTH_CHECK(is_held(page) && !is_kept(page) && beside_[tree_page] == kNoPage,
               "a held page is kept beside one page that has none");
  keep(page);
  wanted_[page] = false;
  beside_[tree_page] = page;
  tree_page_[page] = tree_page;
}

void WindowPool::leave(uint32_t tree_page) {
  const uint32_t page = beside_[tree_page];
  if (page == kNoPage) return;
  forget(page);
  drop(page);
}

void WindowPool::forget(uint32_t page) { beside_[tree_page_[page]] = kNoPage; }

}  // namespace hearth
