// MergeTable holds the merge rules of a BPE vocabulary by token ids: (left, right) -> (rank,
// merged). It has one sorted row per left token and takes 12 bytes a rule and 4 a token. Errors
// (kFile, naming tokenizer.ggml.merges and the rule): a rule that is not two tokens parted by a
// space, or whose tokens or their concatenation the vocabulary does not have. Where a pair stands
// twice, the first, better rank counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/vocab.h"
#include "text/token_index.h"

namespace hearth {

struct Merge {
  int32_t right;
  uint32_t rank;  // the lowest is merged first
  int32_t merged;
};

class MergeTable {
 public:
  MergeTable(const Vocab& vocab, const TokenIndex& index);

  // Returns the rule, or nullptr. Ids may be -1, which nothing merges with.
  const Merge* find(int32_t left, int32_t right) const;

 private:
  std::vector<uint32_t> row_;  // each left token's first rule; one more at the end
  std::vector<Merge> merges_;
};

}  // namespace hearth
