// MergeTable holds the merge rules of a BPE vocabulary: (left, right) -> (rank, merged). It has one
// sorted row per left token and takes 12 bytes a rule and 4 a token. Where a pair stands twice, the
// first, better rank counts. Rules that make a guarded token (tokenizer/special_tokens.h) are left
// out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/vocab.h"

namespace hearth {

struct Merge {
  int32_t right;
  uint32_t rank;  // the lowest is merged first
  int32_t merged;
};

class MergeTable {
 public:
  // The rules must name tokens of the vocabulary, as check_vocab() checks.
  explicit MergeTable(const Vocab& vocab);

  // Returns the rule, or nullptr. Ids may be -1, which no rule has.
  const Merge* find(int32_t left, int32_t right) const;

 private:
  std::vector<uint32_t> row_;  // the index of each left token's first rule; one more at the end
  std::vector<Merge> merges_;
};

}  // namespace hearth
