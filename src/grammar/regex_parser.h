// Parses regular expressions of ECMA-262 (with the flag `u`) to regular expressions over bytes.
//
// Supported: characters, escapes, classes, \d \w \s, \p{..} of general categories, ".", groups of
// every kind, alternatives, anchors, quantifiers (a lazy one means the same). An escape that no
// character needs, such as \-, is taken as the character, since many schemas have them.
//
// Errors (kRequest): a sentence without its subject, to be put behind the pattern's place:
// lookaround, back references, \b, a repeated anchor; invalid syntax; more than 4 KiB, groups
// nested more than 64 deep, a bound of a repetition above 1,000,000.
#pragma once

#include <functional>
#include <string_view>

#include "grammar/code_points.h"
#include "grammar/regex_set.h"

namespace hearth {

struct PatternOptions {
  // Whether the pattern may match anywhere in a text; otherwise it must match the whole text.
  bool search = true;
  // Returns an expression for the spellings of one character of a set; an empty `spell` spells
  // characters as UTF-8. With another spelling, parse_pattern() returns an expression that matches
  // all spellings of the texts that match the pattern.
  std::function<RegexId(const CodePoints&)> spell = nullptr;
};

RegexId parse_pattern(RegexSet& set, std::string_view pattern, const PatternOptions& options = {});

}  // namespace hearth
