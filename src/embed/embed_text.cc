#include "embed/embed_text.h"

#include "base/error.h"

namespace hearth {

EmbedTokens embed_tokens(const Tokenizer& tokenizer, std::string_view text, uint32_t context) {
  const Vocab& vocab = tokenizer.vocab();
  EmbedTokens tokens{tokenizer.encode(text), 0};
  size_t before = tokenizer.adds_bos() && vocab.bos != Vocab::kNone ? 1 : 0;
  size_t behind = vocab.add_eos && vocab.eos != Vocab::kNone ? 1 : 0;
  tokens.whole = tokens.ids.size();
  if (tokens.whole <= before + behind) {
    fail(ErrorCode::kRequest, "{}", text.empty() ? "the text is empty" : "the text has no tokens");
  }
  if (tokens.whole > context) {
    if (context <= before + behind) {
      fail(ErrorCode::kRequest,
           "the context of {} holds no token of a text beside the special ones", context);
    }
    tokens.ids.resize(context);
    if (behind > 0) tokens.ids.back() = vocab.eos;
  }
  return tokens;
}

}  // namespace hearth
