// A stock of pages by number. A page is free, held by one or more sequences, or held by none and
// kept because a later sequence may want it. If no page is free, take() gives out the kept page
// that has been unused for longest; it never gives out a page in use. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hearth {

class PageStock {
 public:
  // Copies the keys and values of page `from` to page `to`, of all its layers and shards.
  using CopyPage = std::function<void(uint32_t from, uint32_t to)>;
  static constexpr uint32_t kNoPage = UINT32_MAX;

  PageStock(uint32_t page_count, CopyPage copy);
  virtual ~PageStock() = default;
  PageStock(const PageStock&) = delete;
  PageStock& operator=(const PageStock&) = delete;

  uint32_t page_count() const { return static_cast<uint32_t>(pages_.size()); }
  // Returns how many pages take() can give, one after another: the free pages, and the kept ones
  // that no sequence holds.
  uint32_t available() const { return static_cast<uint32_t>(free_.size()) + unused_count_; }
  // Returns how many pages are kept and not held.
  uint32_t unused_count() const { return unused_count_; }
  uint64_t evictions() const { return evictions_; }

  // Takes a page for one sequence, which then holds it; available() must not be 0.
  uint32_t take();
  // Adds one holder to the page.
  void share(uint32_t page);
  // The order in which kept pages are taken for other uses: in turn, or before all others.
  enum class Goes : uint8_t { kInTurn, kFirst };
  void release(uint32_t page, Goes goes = Goes::kInTurn);
  // Returns whether a page's holder may write to it: it has one holder, and is not kept.
  bool is_private(uint32_t page) const { return pages_[page].holders == 1 && !pages_[page].kept; }
  void copy(uint32_t from, uint32_t to) const { copy_(from, to); }

 protected:
  bool is_held(uint32_t page) const { return pages_[page].holders > 0; }
  bool is_kept(uint32_t page) const { return pages_[page].kept; }
  void keep(uint32_t page) { pages_[page].kept = true; }
  // Stops keeping the page: without a holder it is then free.
  void drop(uint32_t page);

 private:
  struct Page {
    uint32_t holders = 0;
    bool kept = false;
    uint32_t older = kNoPage, newer = kNoPage;  // among the unused
  };

  // Forgets a page that is given to another holder, so that it can no longer be found.
  virtual void forget(uint32_t page) = 0;
  void add_unused(uint32_t page, Goes goes);
  void remove_unused(uint32_t page);

  CopyPage copy_;
  std::vector<Page> pages_;
  std::vector<uint32_t> free_;
  uint32_t oldest_unused_ = kNoPage, newest_unused_ = kNoPage;
  uint32_t unused_count_ = 0;
  uint64_t evictions_ = 0;
};

}  // namespace hearth
