// The prefix cache of a stub of an engine: as many whole pages of a prompt count as computed as it
// shares with the beginning of an earlier text, its prompt and its reply. Nothing is ever dropped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention/attention.h"

namespace hearth {

class StubCache {
 public:
  // The tokens of this prompt that are there. The last one never is, since its logits are wanted.
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
