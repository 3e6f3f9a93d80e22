// Tokenizes a text for a model that makes a vector of it: its tokens, and around them the special
// ones of the vocabulary ([CLS] and [SEP], or BOS and EOS if the file says so), as many as the
// context holds. Control tokens that the text spells are treated as text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace hearth {

struct EmbedTokens {
  std::vector<int32_t> ids;
  // The number of tokens of the whole text; if the text was cut, `ids` has fewer.
  size_t whole = 0;

  bool was_cut() const { return whole > ids.size(); }
};

// Cuts the text's own tokens at their end if there are more than `context` in all; the special ones
// stay. A caller that must not cut refuses a text that was cut. A text that only has special tokens
// (WordPiece drops white space) has a vector like any other. Returns no ids for the empty text, and
// for a text without any token; no_tokens_reason() explains both. Throws Error (kRequest) if the
// context only holds the special tokens, and the errors of Tokenizer::encode. `pace` is null if no
// other work waits for this call; with a pace `whole` is not counted to its end if the text is cut.
EmbedTokens embed_tokens(const Tokenizer& tokenizer, std::string_view text, uint32_t context,
                         Pace* pace = nullptr);

// Returns a sentence that says why embed_tokens() found no tokens in the text. Callers add which
// text it is.
std::string_view no_tokens_reason(std::string_view text);

}  // namespace hearth
