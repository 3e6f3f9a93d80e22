// The pool of KV pages: a fixed number of page ids, shared by layers and shards (graph/step_view.h
// says where a page's bytes lie), and the sequences that hold them. Used by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/attention.h"

namespace hearth {

class KvPool {
 public:
  explicit KvPool(uint32_t page_count);

  uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  // There must be a free page.
  uint32_t take();
  void give_back(uint32_t page);

 private:
  uint32_t page_count_;
  std::vector<uint32_t> free_;
};

// One sequence's state: its length in tokens and the pages of its keys and values.
class Sequence {
 public:
  explicit Sequence(KvPool& pool) : pool_(&pool) {}
  ~Sequence() { truncate(0); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  uint32_t length() const { return length_; }
  const std::vector<uint32_t>& pages() const { return pages_; }

  // Pages that `tokens` more tokens need beyond those held.
  uint32_t pages_needed(uint32_t tokens) const;
  // Makes room for and counts `tokens` more tokens. The pool must have pages_needed(tokens) free.
  void grow(uint32_t tokens);
  // Forgets all but the first `length` tokens; pages no longer needed go back to the pool.
  void truncate(uint32_t length);

 private:
  KvPool* pool_;
  uint32_t length_ = 0;
  std::vector<uint32_t> pages_;
};

}  // namespace hearth
