// CodePoints: a set of Unicode's scalar values (U+0000 to U+10FFFF without surrogates), as ranges.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/regex_set.h"

namespace hearth {

struct CodePointRange {
  char32_t first, last;
  bool operator==(const CodePointRange&) const = default;
};

class CodePoints {
 public:
  CodePoints() = default;
  CodePoints(std::initializer_list<CodePointRange> ranges);

  static CodePoints all();
  // Returns the characters of a general category or a group of categories, by its short or long
  // Unicode name ("L", "Lu", "Uppercase_Letter"), and of "Any" and "ASCII"; none where there is no
  // such name.
  static std::optional<CodePoints> category(std::string_view name);

  void add(char32_t first, char32_t last);  // leaves out surrogates
  void add(const CodePoints& other);
  CodePoints complement() const;
  CodePoints intersection(const CodePoints& other) const;

  // Returns the ranges, ascending, with gaps between them.
  std::span<const CodePointRange> ranges() const { return ranges_; }
  bool contains(char32_t code_point) const;
  bool operator==(const CodePoints&) const = default;

 private:
  std::vector<CodePointRange> ranges_;
};

// Returns an expression that matches one character of the set, in UTF-8.
RegexId utf8_regex(RegexSet& set, const CodePoints& points);

}  // namespace hearth
