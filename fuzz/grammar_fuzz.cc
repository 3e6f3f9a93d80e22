// Fuzzes patterns and GBNF, and texts matched by them. The first byte chooses one of the two. The
// bytes up to the last newline are the grammar, and the bytes after it the text.
//   - a grammar is made, or refused with an Error
//   - the text can be completed from every position it reaches, by bytes that the mask allows
//   - the mask allows a token exactly if the matcher accepts it

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/gbnf.h"
#include "grammar/matcher.h"
#include "grammar/token_mask.h"

namespace hearth {
namespace {

std::shared_ptr<const VocabularyTrie> make_vocabulary() {
  std::vector<VocabularyToken> tokens = single_byte_tokens();
  for (const char* text : {"ab", "aab", "\"a", "{\"", "\":", "ba\"", "\xc3\xa4"}) {
    tokens.push_back({.bytes = text});
  }
  return std::make_shared<const VocabularyTrie>(tokens);
}

void check_mask(Matcher& matcher) {
  std::vector<uint64_t> bits(matcher.vocabulary().mask_words());
  matcher.mask(bits);
  bool any = matcher.ended();
  for (int32_t token = 0; matcher.vocabulary().has(token); ++token) {
    bool allowed = has_bit(bits, token);
    any = any || allowed;
    HEARTH_CHECK(allowed == matcher.allows(token), "a mask is not what is allowed");
  }
  HEARTH_CHECK(any, "nothing may follow");
}

void follow(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  static const std::shared_ptr<const VocabularyTrie> kVocabulary = make_vocabulary();
  Matcher matcher(grammar, kVocabulary);
  size_t accepted = 0;
  for (char c : text.substr(0, 64)) {
    Matcher before = matcher;
    if (!matcher.accept(static_cast<uint8_t>(c))) continue;
    ++accepted;
    check_mask(matcher);
    matcher.rollback(1);
    HEARTH_CHECK(matcher.may_end() == before.may_end(), "a token taken back leaves a trace");
    HEARTH_CHECK(matcher.accept(static_cast<uint8_t>(c)), "a token is accepted only once");
  }
  HEARTH_CHECK(matcher.history() == accepted, "tokens are lost");
  HEARTH_CHECK(matcher.may_end() == matcher.allows(kByteVocabularyEnd),
               "an end is not where it may be");
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  size_t cut = std::min(input.rfind('\n'), input.size());
  try {
    std::string_view source = input.substr(0, cut);
    auto grammar = data[0] == 'p' ? pattern_grammar(source) : gbnf_grammar(source);
    follow(grammar, input.substr(std::min(cut + 1, input.size())));
  } catch (const Error&) {
  }
  return 0;
}
