// Pre-tokenizers: how byte-level BPE cuts text into pieces before it merges inside each piece. A
// rule is a sequence of patterns: each cuts the pieces that the one before it left, at the borders
// of its matches (text between matches is a piece, too). The concatenation of the pieces is the
// text.
//
// Names are those of `tokenizer.ggml.pre` in GGUF files. The patterns are the ones published in the
// models' own tokenizer.json, run by PCRE2 over UTF-8; docs/tokenizers.md lists them, and where
// llama.cpp's approximations of them differ. White space (\s) is Unicode's White_Space property.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct PreTokenizerRule {
  std::span<const std::string_view> patterns;
  // A piece that is a token as a whole becomes that token, whether merges lead to it or not.
  bool whole_tokens = false;
  // Whether BOS is put first where the file does not say.
  bool add_bos = false;
};

// Returns the rule, or nullptr where the name is not known.
const PreTokenizerRule* find_pre_tokenizer(std::string_view name);
// Returns all names for messages, sorted, as "a, b, c".
std::string pre_tokenizer_names();

class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerRule& rule);
  PreTokenizer(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // `text` is well-formed UTF-8. Appends its pieces, none of them empty, in order. May be called by
  // many threads at once.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  class Pattern;
  std::vector<Pattern> patterns_;
};

}  // namespace hearth
