// A Sequence holds one sequence's state: its tokens and the pages that hold their keys and values.
// Pages may be shared with other sequences and with the pool's prefix cache; one that is shared is
// copied before this sequence writes to it. Used by the thread that owns the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kv_pool.h"

namespace hearth {

class Sequence {
 public:
  // `expanded`: of a model with latents, the rows of so many positions, the first ones, are
  // expanded (graph/ops/latent.h), whatever step they come in.
  explicit Sequence(KvPool& pool, uint32_t expanded = 0) : pool_(&pool), expanded_(expanded) {}
  ~Sequence() { truncate(0); }
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  uint32_t length() const { return static_cast<uint32_t>(tokens_.size()); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<uint32_t>& pages() const { return pages_; }
  uint32_t expanded() const { return expanded_; }

  // Returns how many pages `count` more tokens take from the pool, a copy of a shared last page
  // included.
  uint32_t pages_needed(uint32_t count) const;
  // Makes room for `tokens` and counts them in. The pool must have pages_needed() available. The
  // caller computes their keys and values, or truncates.
  void grow(std::span<const int32_t> tokens);
  // Forgets all but the first `length` tokens; pages no longer needed are let go.
  void truncate(uint32_t length);
  // Returns a sequence of the same tokens, which shares all pages. Publishes first, since full
  // pages that two sequences hold are always filed.
  std::unique_ptr<Sequence> fork();

  // If this sequence holds a beginning of `tokens` in whole pages (or nothing yet), it takes the
  // pages that the pool keeps of the tokens that follow, and counts those tokens in. At least one
  // token is left to compute, since only a computed token gives logits. Returns the number of
  // tokens taken.
  uint32_t adopt_prefix(std::span<const int32_t> tokens);
  // Files the full pages for others to adopt. Their keys and values have been computed.
  void publish();

 private:
  // How many positions of a page are expanded.
  uint32_t expanded_of(size_t page) const;
  // Tells whether the next token falls into a page that others see.
  bool must_copy() const;

  KvPool* pool_;
  uint32_t expanded_;
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> pages_;
  uint32_t published_ = 0;  // pages at the beginning that are filed
};

}  // namespace hearth
