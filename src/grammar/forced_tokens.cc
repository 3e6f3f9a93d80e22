#include "grammar/forced_tokens.h"

#include <optional>
#include <string>

namespace hearth {

namespace {

// Tokenizes `before` and `forced` together, and returns the tokens that lie in the first `settled`
// bytes of `forced`. None where a token lies partly in `before`.
std::optional<std::vector<int32_t>> tokens_behind(std::string_view before, std::string_view forced,
                                                  size_t settled, const Tokenizer& tokenizer) {
  const std::string text = std::string(before) + std::string(forced);
  std::vector<int32_t> ids;
  size_t end = 0;
  for (int32_t id : tokenizer.encode(text, {.add_bos = false, .add_eos = false})) {
    const std::string bytes = tokenizer.token_bytes(id);
    if (bytes.empty() || !std::string_view(text).substr(end).starts_with(bytes)) break;
    if (end < before.size() && end + bytes.size() > before.size()) return std::nullopt;
    end += bytes.size();
    if (end > before.size() + settled) break;
    if (end > before.size()) ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::vector<int32_t> forced_tokens(Matcher& matcher, const Tokenizer& tokenizer,
                                   std::string_view before) {
  const std::string forced = matcher.forced();
  if (forced.empty()) return {};
  const size_t settled = matcher.settled(forced);
  auto tokens = tokens_behind(before, forced, settled, tokenizer);
  // The text's last token is not one that the tokenizer would make here, so `forced` is tokenized
  // without it.
  if (!tokens) tokens = tokens_behind({}, forced, settled, tokenizer);
  return *tokens;
}

}  // namespace hearth
