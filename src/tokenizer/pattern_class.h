// Rewrites escapes and classes of Oniguruma's regular expressions for PCRE2
// (tokenizer/pattern_spelling.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// A rewritten beginning of a regular expression, and how many bytes of the original it replaces.
struct PatternPiece {
  std::string spelled;
  size_t taken;
};

// Rewrites the escape that `text` begins with, outside of classes.
PatternPiece spell_escape(std::string_view text);

// Rewrites the class that `text` begins with, from its "[". Throws (kFile) where classes are nested
// too deeply. A class that does not end is left for PCRE2 to refuse.
PatternPiece spell_class(std::string_view text);

}  // namespace hearth
