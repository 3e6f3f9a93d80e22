#include "embed/embed_text.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {

EmbedTokens embed_tokens(const Tokenizer& tokenizer, std::string_view text, uint32_t context,
                         Pace* pace) {
  if (text.empty()) return {};
  const Vocab& vocab = tokenizer.vocab();
  EncodeOptions options;
  options.pace = pace;
  if (pace != nullptr) options.most = context;
  EmbedTokens tokens{tokenizer.encode(text, options), 0};
  size_t before = tokenizer.adds_bos() ? tokenizer.before().size() : 0;
  size_t behind = vocab.add_eos ? tokenizer.behind().size() : 0;
  tokens.whole = tokens.ids.size();
  if (tokens.whole > context) {
    if (context <= before + behind) {
      fail(ErrorCode::kRequest,
           "a context of {} tokens has no room for text besides the special tokens: raise --ctx",
           context);
    }
    tokens.ids.resize(context);
    if (behind > 0) {
      std::ranges::copy(tokenizer.behind(), tokens.ids.end() - static_cast<ptrdiff_t>(behind));
    }
  }
  return tokens;
}

std::string_view no_tokens_reason(std::string_view text) {
  return text.empty() ? "the text is empty" : "the text has no tokens";
}

}  // namespace hearth
