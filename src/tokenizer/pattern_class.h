// Escapes and classes of Oniguruma's regular expressions, written out for PCRE2
// (tokenizer/pattern_spelling.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// The beginning of a regular expression, spelled anew, and how many bytes of it that was.
struct PatternPiece {
  std::string spelled;
  size_t taken;
};

// `text` begins with a backslash, outside of classes.
PatternPiece spell_escape(std::string_view text);

// `text` begins with "[". Throws (kFile) where classes lie too deep in each other. A class that
// does not end is left to PCRE2.
PatternPiece spell_class(std::string_view text);

}  // namespace hearth
