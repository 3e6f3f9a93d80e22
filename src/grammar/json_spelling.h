// JsonSpelling makes expressions for how strings are spelled between JSON's quotes: characters
// stand for themselves or are escaped (RFC 8259, section 7); surrogates come in pairs.
//
// As each spelling has one value, conditions on a string's value become conditions on its
// spellings: spelled() converts sets of characters, and a RegexSet's operations do the rest.
//
// In raw texts, which stand in markup that is not JSON, every character stands for itself.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/code_points.h"
#include "grammar/regex_set.h"

namespace hearth {

class JsonSpelling {
 public:
  explicit JsonSpelling(RegexSet& set, bool raw = false);

  // Returns an expression for all spellings of one character of the set.
  RegexId spelled(const CodePoints& points);
  RegexId any_character() const { return any_; }
  // Returns an expression for all spellings of a text, which is UTF-8.
  RegexId text(std::string_view text);
  // Returns those spellings of a text in which no ASCII character is escaped without need.
  RegexId usual_text(std::string_view text);
  // Returns one spelling of a text.
  std::string spell(std::string_view text) const;

 private:
  RegexId escaped(char32_t first, char32_t last);
  RegexId hex_range(uint32_t first, uint32_t last, uint32_t digits);
  RegexId pair_range(uint32_t first, uint32_t last);
  RegexId short_escapes(const CodePoints& points);

  RegexSet& set_;
  bool raw_;
  RegexId hex_, any_;
  std::unordered_map<char32_t, RegexId> characters_;
};

// Returns the character that a letter behind a backslash stands for: the letter itself, where JSON
// has no such escape.
char json_escape_meaning(char letter);

// Returns the usual spelling of a text, as programs write it.
std::string spell_json(std::string_view text);

}  // namespace hearth
