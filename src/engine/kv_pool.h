// The pool of KV pages: a fixed number of page ids, shared by layers and shards (graph/step_view.h
// says where a page's bytes lie). Pages are kept because a later prompt may want them.
//
// The prefix cache is a tree of full pages: a page is filed under the page before it, its own
// kPagePositions tokens, and its form. By the numerical contract the page's bytes follow from these
// three alone, so a sequence that needs such bytes takes the page as it is. A holder of a page also
// holds the pages before it, and sequences let go of their last page first; so the page unused for
// longest never has a kept page behind it, and is the one to evict. A page in use is never evicted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/page_stock.h"
#include "kernels/attention/attention.h"

namespace hearth {

// The form of a page: the facts about its bytes that do not follow from its tokens and the pages
// before it.
struct PageForm {
  // The number of its first positions that were computed expanded (graph/ops/latent.h), in a model
  // with latents.
  uint32_t expanded = 0;
  // Whether cores or an accelerator made the page's bytes, if the two multiply by different
  // instructions and so give different bytes (pass_has_own_bits() of hybrid/accelerator_layers.h).
  // Else all pages count as made by the cores.
  enum class Maker : uint8_t { kCores, kAccelerator } maker = Maker::kCores;

  bool operator==(const PageForm&) const = default;
};

class KvPool : public PageStock {
 public:
  // Makes a pool. With 0 pages, sequences keep only their tokens.
  KvPool(uint32_t page_count, CopyPage copy);

  bool keeps_pages() const { return !pages_.empty(); }
  // Sets a function that is called with every evicted page, so that data kept beside it is dropped
  // too.
  void set_on_evict(std::function<void(uint32_t)> on_evict) { on_evict_ = std::move(on_evict); }

  // Returns the page that holds `tokens` (kPagePositions of them) in that form after page `parent`
  // (kNoPage: at the beginning); kNoPage if there is none.
  uint32_t find(uint32_t parent, std::span<const int32_t> tokens, const PageForm& form = {}) const;
  // Return whether any filed page, or several, follow a filed page.
  bool has_children(uint32_t page) const { return pages_[page].children > 0; }
  bool branches(uint32_t page) const { return pages_[page].children > 1; }
  // Files a held page. The pool must not have an equal one, and the parent must be filed.
  void file(uint32_t page, uint32_t parent, std::span<const int32_t> tokens,
            const PageForm& form = {});

 private:
  struct Page {
    uint32_t parent = kNoPage;
    PageForm form = {};
    uint32_t children = 0;  // filed pages behind it
    uint64_t key = 0;
    std::array<int32_t, kPagePositions> tokens;
  };

  void forget(uint32_t page) override;

  std::function<void(uint32_t)> on_evict_;
  std::vector<Page> pages_;
  std::unordered_multimap<uint64_t, uint32_t> by_key_;
};

}  // namespace hearth
