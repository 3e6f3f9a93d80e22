// Splits a text by a pattern, in each of the ways that Hugging Face's tokenizers have.
#pragma once

#include <string_view>
#include <vector>

#include "formats/text_rules.h"
#include "tokenizer/pattern.h"

namespace hearth {

// Appends the pieces of `text`, none of them empty. With `invert` the text between matches is
// treated as the matches. Throws as Pattern::next().
void cut_text(const Pattern& pattern, CutBehavior behavior, bool invert, std::string_view text,
              MatchMemory& memory, std::vector<std::string_view>& pieces);

}  // namespace hearth
