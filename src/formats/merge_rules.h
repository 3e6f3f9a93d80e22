// Converts merge rules of a BPE vocabulary from text, "left right", to token ids.
//
// Errors (kFile, naming tokenizer.ggml.merges and the rule): a rule that is not two tokens
// separated by a space, or whose tokens or their concatenation the vocabulary does not have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/token_index.h"
#include "formats/vocab.h"

namespace hearth {

// `index` must be that of vocab.tokens.
std::vector<MergeRule> parse_merge_rules(const Vocab& vocab, const TokenIndex& index,
                                         std::span<const std::string> rules);

}  // namespace hearth
