// The tokens that a text must go on with, where the tokenizer would make them of it, too, whatever
// follows: who takes others in their place, such as "order" where "orderId" may be meant, leads a
// model to texts that it never saw.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/matcher.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// `tokenizer` is that of the matcher's vocabulary, `before` the bytes of the token that the text
// ends with so far. Returns none where there is a choice, and where the tokenizer does not give
// bytes back as they are.
std::vector<int32_t> forced_tokens(Matcher& matcher, const Tokenizer& tokenizer,
                                   std::string_view before = {});

}  // namespace hearth
