// Finds the tokens with which a text must continue by its grammar. Only tokens that the tokenizer
// would make of the text, whatever follows, are returned: another token, such as "order" where
// "orderId" may follow, would lead a model to texts unlike those that it was trained on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/matcher.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// Returns the forced tokens, none if the grammar leaves a choice, or if the tokenizer's tokens do
// not spell the forced bytes. `tokenizer` is that of the matcher's vocabulary, `before` the bytes
// of the text's last token.
std::vector<int32_t> forced_tokens(Matcher& matcher, const Tokenizer& tokenizer,
                                   std::string_view before = {});

}  // namespace hearth
