// PatternReader reads the characters and small parts of an ECMA-262 regular expression, one after
// another. Its errors (kRequest) are those of parse_pattern().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/code_points.h"

namespace hearth {

struct RepeatBounds {
  uint64_t least, most;  // most: kNoLimit where there is none
};

class PatternReader {
 public:
  // `pattern` must live as long as the reader.
  explicit PatternReader(std::string_view pattern);

  bool done() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(char c);

  // Reads `*`, `+`, `?` or `{..}`, and the `?` behind it that makes it lazy; none where there is no
  // quantifier.
  std::optional<RepeatBounds> quantifier();
  // Reads what follows the "(" of a group: "?:" and the like.
  void group_kind();
  // Reads one character, an escape or a class.
  CodePoints character_set();

 private:
  std::optional<RepeatBounds> braces();
  std::optional<uint64_t> number();
  char32_t character();
  CodePoints char_class();
  CodePoints class_member(std::optional<char32_t>* single);
  CodePoints escape(bool in_class, std::optional<char32_t>* single);
  CodePoints property(bool negated);
  char32_t unicode_escape();
  uint32_t hex_digits(size_t count);

  std::string_view text_;
  size_t at_ = 0;
  std::map<std::string, CodePoints, std::less<>> categories_;  // categories that were used
};

}  // namespace hearth
