// The pool of window pages: pages of layers whose rows see a window, in models whose other layers
// see all positions (KvKind::kWindow in graph/step_view.h). A sequence holds the window pages that
// its next tokens see, and gives back earlier ones (Sequence::give_back()).
//
// A page of the prefix tree (engine/kv_pool.h) may have a window page of the same positions kept
// beside it, whichever sequence computed that. A sequence begins, or goes back, where all pages of
// the window before that place are kept. So a hit needs pages of the tree and window pages.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/page_stock.h"

namespace hearth {

class WindowPool : public PageStock {
 public:
  // `window`: positions that a row sees, its own included. `tree_pages`: the number of pages of the
  // KV pool.
  WindowPool(uint32_t window, uint32_t page_count, uint32_t tree_pages, CopyPage copy);

  uint32_t window() const { return window_; }
  // Returns the most pages that a sequence of `length` tokens holds between steps.
  uint32_t max_held(uint32_t length) const;
  // Returns the index of the first page that such a sequence holds. The window that is needed to go
  // on from the end of its last full page is included.
  uint32_t first_held(uint32_t length) const;

  // Returns the page kept beside this page of the tree; kNoPage if there is none.
  uint32_t find(uint32_t tree_page) const { return beside_[tree_page]; }
  // Keeps `page`, which a sequence holds, beside `tree_page`. Neither page may already have a
  // partner.
  void keep_beside(uint32_t tree_page, uint32_t page);
  // Drops the page kept beside `tree_page`, if any, when the tree gives that page to another text.
  void leave(uint32_t tree_page);

  // Marks a page as wanted: a later sequence may begin after it.
  void want(uint32_t page) { wanted_[page] = true; }
  // Gives back a page that fell behind a window. A wanted page is taken for another use in its
  // turn. A page that is not wanted is taken before all kept pages.
  void give_back(uint32_t page) { release(page, wanted_[page] ? Goes::kInTurn : Goes::kFirst); }

 private:
  void forget(uint32_t page) override;

  uint32_t window_;
  std::vector<uint32_t> beside_;     // by page of the tree: the page kept beside it
  std::vector<uint32_t> tree_page_;  // by page, for kept ones
  std::vector<bool> wanted_;         // by page, for kept ones
};

}  // namespace hearth
