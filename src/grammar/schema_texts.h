// SchemaTexts makes regular expressions of JSON's numbers, and of what stands between the quotes of
// strings. A condition on a string's value applies to all of its spellings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "grammar/json_spelling.h"
#include "grammar/regex_set.h"
#include "grammar/schema_decimal.h"

namespace hearth {

class SchemaTexts {
 public:
  // `raw`: strings are bare characters, not spelled as in JSON (grammar/json_spelling.h).
  explicit SchemaTexts(RegexSet& set, bool raw = false);

  RegexSet& set() { return set_; }
  RegexId nothing() const { return set_.nothing(); }
  // Combine two or more expressions of numbers, or of strings.
  RegexId both(RegexId a, RegexId b);
  RegexId either(RegexId a, RegexId b);
  RegexId any_of(std::span<const RegexId> some);
  RegexId without(RegexId a, RegexId b);
  // Returns whether the string whose value is `text` matches.
  bool matches(RegexId strings, std::string_view text);
  // Returns whether the expression certainly matches nothing; false also where that is too hard to
  // decide.
  bool is_empty(RegexId regex);

  // number() has all numbers of JSON, plain_number() those without an exponent. The following
  // functions return subsets of the latter.
  RegexId number() const { return number_; }
  RegexId plain_number() const { return plain_number_; }
  // `with_point`: 2.0 is an integer, too.
  RegexId integer(bool with_point);
  RegexId equal_to(const Decimal& number);
  RegexId above(const Decimal& bound, bool or_equal);
  RegexId below(const Decimal& bound, bool or_equal);
  // Returns the multiples of the divisor; none where it has too many digits.
  std::optional<RegexId> multiple_of(const Decimal& divisor);

  RegexId any_string() const { return any_string_; }
  RegexId one(std::string_view text) { return spelling_.text(text); }
  RegexId usual(std::string_view text) { return spelling_.usual_text(text); }
  RegexId one_of(std::span<const std::string_view> texts);
  // Matches strings by their length in code points.
  RegexId lengths(uint64_t least, uint64_t most);
  // Match strings in which a pattern of ECMA-262 matches somewhere, or as a whole. Errors:
  // kRequest.
  RegexId found(std::string_view pattern) { return pattern_text(pattern, true); }
  RegexId matching(std::string_view pattern) { return pattern_text(pattern, false); }
  // Return the strings' values, or the numbers in their shortest spelling, if there are at most
  // kFew.
  static constexpr size_t kFew = 10;
  std::optional<std::vector<std::string>> few_strings(RegexId strings);
  std::optional<std::vector<std::string>> few_numbers(RegexId numbers);

  // Returns the expression of strings with their quotes.
  RegexId quoted(RegexId strings);

 private:
  template <typename Take>
  void search_texts(RegexId regex, std::string_view characters, bool spell, Take take);
  RegexId pattern_text(std::string_view pattern, bool search);
  RegexId digits(char first, char last);
  RegexId whole_above(const Decimal& bound, RegexId behind_equal);
  RegexId magnitude_above(const Decimal& bound, bool or_equal);

  RegexSet& set_;
  JsonSpelling spelling_;
  RegexId digit_, minus_, whole_, fraction_, zero_fraction_, magnitude_, plain_number_, number_;
  RegexId any_string_;
  std::unordered_map<RegexId, std::pair<uint64_t, uint64_t>> lengths_;  // length limits, by strings
  std::unordered_map<RegexId, bool> empty_;
};

}  // namespace hearth
