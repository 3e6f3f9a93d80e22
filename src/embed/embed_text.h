// Tokenizes a text for a model that makes a vector of it: its tokens with the special ones that the
// vocabulary puts around them ([CLS] and [SEP], or BOS and EOS where the file says so), as many as
// the context holds. Control tokens that the text spells are text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace hearth {

struct EmbedTokens {
  std::vector<int32_t> ids;
  // How many tokens there would be without a bound: more than `ids` has where the text was cut.
  size_t whole = 0;

  bool was_cut() const { return whole > ids.size(); }
};

// Cuts the text's own tokens at their end where there are more than `context` in all; the special
// ones stay. Who must not cut refuses what was cut. A text that only has special tokens (WordPiece
// drops white space) has a vector like any other. Returns no ids for the empty text, and where
// there are no tokens at all: there is nothing to make a vector of, and no_tokens_reason() says so.
// Throws (kRequest) where the context holds the special tokens alone, and what Tokenizer::encode
// throws.
// `pace`: null where nobody waits behind the call; with one `whole` is not counted to its end where
// the text is cut.
EmbedTokens embed_tokens(const Tokenizer& tokenizer, std::string_view text, uint32_t context,
                         Pace* pace = nullptr);

// Says why embed_tokens() found no tokens in the text: a sentence without a place.
std::string_view no_tokens_reason(std::string_view text);

}  // namespace hearth
