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
// the same: where the rules of one token are not consecutive, or where the concatenation of two
// tokens is a token that no rule makes of the two. The rules of a token of one repeated character
// need not be consecutive. That happens if such tokens had equal scores, and does no harm, since
// all of them lead to the longest token.
std::vector<float> merge_scores(const Vocab& vocab);

}  // namespace hearth
