#include "grammar/forced_tokens.h"

namespace hearth {

std::vector<int32_t> forced_tokens(Matcher& matcher, const Tokenizer& tokenizer) {
  std::string forced = matcher.forced();
  if (forced.empty()) return {};
  std::vector<int32_t> ids = tokenizer.encode(forced, {.add_bos = false, .add_eos = false});
  size_t settled = matcher.settled(forced), end = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string bytes = tokenizer.token_bytes(ids[i]);
    bool same = !bytes.empty() && std::string_view(forced).substr(end).starts_with(bytes);
    if (!same || end + bytes.size() > settled) {
      ids.resize(i);
      break;
    }
    end += bytes.size();
  }
  return ids;
}

}  // namespace hearth
