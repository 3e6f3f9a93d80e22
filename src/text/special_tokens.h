// SpecialTokens cuts text at the tokens that are matched as they are written: user-defined ones
// always, control and unknown tokens where the caller trusts the text to hold them. In a unigram
// vocabulary the encoder finds user-defined tokens itself, as SentencePiece does, but for those
// that nobody may forge.
//
// Longer tokens are looked for first, over the whole text, and each from left to right: a token
// never takes a part of a longer one's match. Tokens in vocab.strip_right swallow the white space
// (ASCII) after them.
//
// In bytes that a stranger wrote (`foreign`), beside a program's own, nobody may forge a control
// token: a match that touches one of these bytes is none. User-defined tokens are text that anyone
// may write (runs of spaces, HTML tags, "<think>") and are found in them as everywhere, but for
// those that look like the markers of turns, which some converters give the wrong type:
// "<|...|>", the same with full-width bars, "<..._of_turn>", upper-case names in square brackets
// such as "[INST]", and the vocabulary's own BOS and tokens that end a generation.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/vocab.h"

namespace hearth {

// A part is a special token, or text between special tokens that is not empty.
struct TextPart {
  std::string_view text;
  int32_t token = Vocab::kNone;
};

// Whether nobody may forge the token: control and unknown tokens, and those user-defined ones that
// are markers of turns as said above. No encoder makes one of these from the pieces of its text.
bool is_guarded_token(const Vocab& vocab, int32_t id);

class SpecialTokens {
 public:
  using ByteRanges = std::span<const std::pair<size_t, size_t>>;  // [begin, end), sorted, disjoint

  // `vocab` must outlive the object.
  explicit SpecialTokens(const Vocab& vocab);

  std::vector<TextPart> partition(std::string_view text, bool parse_special,
                                  ByteRanges foreign = {}) const;

 private:
  struct Length {
    size_t bytes;
    std::bitset<256> first;    // bytes that a token of this length begins with
    std::vector<int32_t> ids;  // sorted by text
  };

  std::vector<Length> lengths_of(bool with_control) const;
  int32_t find(const Length& length, std::string_view text) const;
  // `offset`: of `text` in the whole.
  void cut(const Length& length, std::string_view text, size_t offset, ByteRanges foreign,
           std::vector<TextPart>& parts) const;

  const Vocab& vocab_;
  // The longest tokens come first. There are two lists: user-defined tokens alone, and all.
  std::array<std::vector<Length>, 2> lengths_;
};

}  // namespace hearth
