// Patterns as ECMA-262 writes them (with the flag `u`) become regular expressions over bytes.
//
// Held: characters, escapes, classes, \d \w \s, \p{..} of general categories, ".", groups of every
// kind, alternatives, anchors, quantifiers (a lazy one means the same). Escapes of characters that
// need none, such as \-, are taken as the character, as most schemas in use want it.
//
// Errors (kRequest): a sentence that begins with what is wrong, to be put behind the pattern's
// place: lookaround, back references, \b, an anchor that is repeated; what is no pattern; more than
// 4 KiB, groups more than 64 deep, a bound of a repetition above 1,000,000.
#pragma once

#include <functional>
#include <string_view>

#include "grammar/code_points.h"
#include "grammar/regex_set.h"

namespace hearth {

struct PatternOptions {
  // A text matches where the pattern matches anywhere in it; else the whole text must match.
  bool search = true;
  // How a text spells one character of a set; empty: as UTF-8. With another spelling the result
  // matches all spellings of the texts that match the pattern.
  std::function<RegexId(const CodePoints&)> spell = nullptr;
};

RegexId parse_pattern(RegexSet& set, std::string_view pattern, const PatternOptions& options = {});

}  // namespace hearth
