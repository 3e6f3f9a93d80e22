// What a model reads of a text that is to become a vector: its tokens with the special ones that
// the vocabulary puts around them ([CLS] and [SEP], or BOS and EOS where the file says so), as many
// as the context holds. Control tokens that the text spells are text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace hearth {

struct EmbedTokens {
  std::vector<int32_t> ids;
  // How many there would be without a bound: more than `ids` where the text was cut.
  size_t whole = 0;

  bool was_cut() const { return whole > ids.size(); }
};

// Cuts the text's own tokens at their end where there are more than `context` in all; the special
// ones stay. Who must not cut refuses what was cut. Throws (kRequest) where the text has no tokens
// of its own, and what Tokenizer::encode throws.
EmbedTokens embed_tokens(const Tokenizer& tokenizer, std::string_view text, uint32_t context);

}  // namespace hearth
