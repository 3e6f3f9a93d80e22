// The pool of window pages: those of the layers whose rows see a window, where others see all
// positions (KvKind::kWindow in graph/step_view.h). A sequence holds those that its next tokens
// see something of, and gives back what lies behind (Sequence::give_back()).
//
// One is kept beside a page of the prefix tree (engine/kv_pool.h) of the same positions, whoever
// computed it. So a sequence begins, or goes back, where all pages of the window before that place
// are kept: a hit needs the pages of the tree and these.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/page_stock.h"

namespace hearth {

class WindowPool : public PageStock {
 public:
  // `window`: positions that a row sees, its own included. `tree_pages`: of the KV pool, [0,
  // tree_pages).
  WindowPool(uint32_t window, uint32_t page_count, uint32_t tree_pages, CopyPage copy);

  uint32_t window() const { return window_; }
  // The most pages that a sequence of `length` tokens holds between steps.
  uint32_t most_held(uint32_t length) const;
  // The first page that it holds then: all that is needed to go on from the end of its last full
  // page, too.
  uint32_t first_held(uint32_t length) const;

  // Returns the page kept beside this one of the tree; kNoPage where there is none.
  uint32_t find(uint32_t tree_page) const { return beside_[tree_page]; }
  // Keeps `page`, which a sequence holds, beside `tree_page`: neither has a partner yet.
  void keep_beside(uint32_t tree_page, uint32_t page);
  // Drops the page kept beside `tree_page`, if any: the tree gives that page to another text.
  void leave(uint32_t tree_page);

  // Marks a page as wanted: a sequence may begin behind it.
  void want(uint32_t page) { wanted_[page] = true; }
  // Gives back a page that fell behind a window. A wanted one is taken again in its turn, any other
  // before all kept pages.
  void give_back(uint32_t page) { release(page, wanted_[page] ? Goes::kInTurn : Goes::kFirst); }

 private:
  void forget(uint32_t page) override;

  uint32_t window_;
  std::vector<uint32_t> beside_;     // by page of the tree
  std::vector<uint32_t> tree_page_;  // by page, of those that are kept
  std::vector<bool> wanted_;         // by page; of those that are kept
};

}  // namespace hearth
