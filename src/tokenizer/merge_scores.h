// Computes scores with which SentencePiece's merging (tokenizer/spm_encoder.h) does the same as the
// merge rules of a tokenizer.json, which was itself converted from such scores: the later the rules
// that make a token, the lower its score.
#pragma once

#include <vector>

#include "formats/vocab.h"

namespace hearth {

// Returns the merge rules of a vocabulary, the first ranks in front.
std::vector<MergeRule> merges_by_rank(const Vocab& vocab);

// Returns the scores by id for a vocabulary with merges. Throws (kUnsupported) where no scores do
// the same: rules of one token with those of another among them, or two tokens whose concatenation
// is a token that no rule makes of them. Tokens of one repeated character may have their rules
// among each other's, as happens where they had equal scores: all of them lead to the longest.
std::vector<float> merge_scores(const Vocab& vocab);

}  // namespace hearth
