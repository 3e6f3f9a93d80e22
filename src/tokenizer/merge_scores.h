// Scores that make SentencePiece's merging (tokenizer/spm_encoder.h) do what the merge rules of a
// tokenizer.json do, which a converter made of such scores: a token's score falls with the rank of
// the rules that make it.
#pragma once

#include <vector>

#include "formats/vocab.h"

namespace hearth {

// The rules of a vocabulary, those that are used first in front.
std::vector<MergeRule> merges_by_rank(const Vocab& vocab);

// Returns the scores by id for a vocabulary with merges. Throws (kUnsupported) where no scores do
// the same: rules of one token with those of another among them, or two tokens that together are a
// third and that no rule merges. Tokens of one character repeated may have rules among each
// other's, as those have that had one score: all of them lead to the longest.
std::vector<float> merge_scores(const Vocab& vocab);

}  // namespace hearth
