// SpecialTokens cuts text at the tokens that are matched as they are written: user-defined ones
// always, control and unknown tokens where the caller trusts the text to hold them.
//
// Longer tokens are looked for first, over the whole text, and each from left to right: a token
// never takes a part of a longer one's match. Tokens in vocab.strip_right swallow the white space
// (ASCII) after them.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/vocab.h"

namespace hearth {

// A part is a special token, or text between special tokens that is not empty.
struct TextPart {
  std::string_view text;
  int32_t token = Vocab::kNone;
};

class SpecialTokens {
 public:
  // `vocab` must outlive the object.
  explicit SpecialTokens(const Vocab& vocab);

  std::vector<TextPart> partition(std::string_view text, bool parse_special) const;

 private:
  struct Length {
    size_t bytes;
    std::bitset<256> first;    // bytes that a token of this length begins with
    std::vector<int32_t> ids;  // sorted by text
  };

  std::vector<Length> lengths_of(bool with_control) const;
  int32_t find(const Length& length, std::string_view text) const;
  void cut(const Length& length, std::string_view text, std::vector<TextPart>& parts) const;

  const Vocab& vocab_;
  // The longest tokens come first. There are two lists: user-defined tokens alone, and all.
  std::array<std::vector<Length>, 2> lengths_;
};

}  // namespace hearth
