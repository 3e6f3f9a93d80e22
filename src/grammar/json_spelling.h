// How strings of JSON are spelled between their quotes: characters stand for themselves or are
// escaped (RFC 8259, section 7); the halves of a surrogate pair come in pairs.
//
// What is said of a string's value can be said of its spellings, as each spelling has one value: of
// characters by spelled(), and from there by all that a RegexSet does.
//
// Raw texts, of markup that is not JSON, are spelled by their characters alone.
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

  // Returns all spellings of one character of the set.
  RegexId spelled(const CodePoints& points);
  RegexId any_character() const { return any_; }
  // Returns all spellings of a text, which is UTF-8.
  RegexId text(std::string_view text);
  // Returns the spellings in which ASCII that needs no escape has none.
  RegexId usual_text(std::string_view text);
  // Returns one of a text's spellings.
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

// The spelling of a text that programs write.
std::string spell_json(std::string_view text);

}  // namespace hearth
