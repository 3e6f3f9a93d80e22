// The prefix cache of a stub of an engine. It counts as cached the whole pages that a prompt shares
// with the beginning of an earlier text, which is a prompt with its reply. Nothing is ever evicted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention/attention.h"

namespace hearth {

class StubCache {
 public:
  // Returns the number of this prompt's tokens that are cached. The last token never is, since its
  // logits are needed.
  uint32_t find(std::span<const int32_t> prompt) const {
    size_t best = 0;
    for (const std::vector<int32_t>& text : texts_) {
      const size_t most = std::min(text.size(), prompt.size() - 1);
      const auto end = std::mismatch(text.begin(), text.begin() + most, prompt.begin()).first;
      best = std::max(best, static_cast<size_t>(end - text.begin()));
    }
    return static_cast<uint32_t>(best / kPagePositions * kPagePositions);
  }

  void keep(std::vector<int32_t> text) { texts_.push_back(std::move(text)); }

 private:
  std::vector<std::vector<int32_t>> texts_;
};

}  // namespace hearth
