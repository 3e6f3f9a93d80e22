// Pages for tests of classes that hold pages. A page holds the tokens of its positions, in place of
// the keys and values that a kernel would write.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/sequence.h"
#include "graph/step_view.h"

namespace hearth {

class FakePages {
 public:
  explicit FakePages(uint32_t count, KvKind kind = KvKind::kFull)
      : kind_(kind), slots_(count, std::vector<int32_t>(kPagePositions, -1)) {}

  PageStock::CopyPage copier() {
    return [this](uint32_t from, uint32_t to) { slots_[to] = slots_[from]; };
  }
  // Writes the slots of all positions from `from` on.
  void compute(const Sequence& sequence, uint32_t from) {
    for (uint32_t p = from; p < sequence.length(); ++p) slot(sequence, p) = sequence.tokens()[p];
  }
  // Returns the tokens in the slots of the positions from `from` on.
  std::vector<int32_t> seen_by(const Sequence& sequence, uint32_t from = 0) {
    std::vector<int32_t> seen;
    for (uint32_t p = from; p < sequence.length(); ++p) seen.push_back(slot(sequence, p));
    return seen;
  }

 private:
  int32_t& slot(const Sequence& sequence, uint32_t position) {
    const std::vector<uint32_t>& pages =
        kind_ == KvKind::kFull ? sequence.pages() : sequence.window_pages();
    return slots_[pages[position / kPagePositions]][position % kPagePositions];
  }

  KvKind kind_;
  std::vector<std::vector<int32_t>> slots_;
};

inline std::vector<int32_t> tokens_from(std::mt19937& random, uint32_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 2);
  return tokens;
}

}  // namespace hearth
