#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pre_tokenizer.h"

#include <pcre2.h>

#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace hearth {

namespace {

// This is Unicode's White_Space. PCRE2's own \s adds U+180E, which is no white space any more.
constexpr std::string_view kWhiteSpace =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Spells out \s in the pattern, inside and outside of classes, and \S, which only stands outside.
std::string spell_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      char escaped = pattern[++i];
      if (escaped == 's' && in_class) {
        out += kWhiteSpace;
      } else if (escaped == 's' || escaped == 'S') {
        HEARTH_CHECK(!in_class, "\\S inside a class has no spelling here");
        out += escaped == 's' ? "[" : "[^";
        out += kWhiteSpace;
        out += ']';
      } else {
        out += c;
        out += escaped;
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

class PreTokenizer::Pattern {
 public:
  explicit Pattern(std::string_view pattern) {
    std::string spelled = spell_white_space(pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    HEARTH_CHECK(code_ != nullptr, "a pre-tokenizer's pattern does not compile");
    // Where code cannot be made at run time, PCRE2's interpreter does the same more slowly.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  // Cuts `text` at the borders of the matches.
  void split(std::string_view text, pcre2_match_data* match,
             std::vector<std::string_view>& pieces) const {
    size_t done = 0;
    size_t from = 0;
    while (from < text.size()) {
      int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              from, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match, nullptr);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) {
        fail(ErrorCode::kRequest,
             "the pre-tokenizer's pattern cannot be matched against a text of {} bytes (PCRE2 "
             "error {}): shorten the text",
             text.size(), found);
      }
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match);
      if (span[0] > done) pieces.push_back(text.substr(done, span[0] - done));
      pieces.push_back(text.substr(span[0], span[1] - span[0]));
      done = from = span[1];
    }
    if (done < text.size()) pieces.push_back(text.substr(done));
  }

 private:
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

PreTokenizer::PreTokenizer(const PreTokenizerRule& rule) {
  patterns_.reserve(rule.patterns.size());
  for (std::string_view pattern : rule.patterns) patterns_.emplace_back(pattern);
}

PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create(1, nullptr));
  if (match == nullptr) fail(ErrorCode::kResource, "no memory to match a pattern");
  std::vector<std::string_view> before;
  std::vector<std::string_view> after;
  if (!text.empty()) before.push_back(text);
  for (const Pattern& pattern : patterns_) {
    after.clear();
    for (std::string_view piece : before) pattern.split(piece, match.get(), after);
    std::swap(before, after);
  }
  pieces.insert(pieces.end(), before.begin(), before.end());
}

}  // namespace hearth
