// Rewrites regular expressions in Oniguruma's syntax (its Ruby dialect, which Hugging Face's
// tokenizers use) for PCRE2. These look the same in both and mean something else:
//   \s \S \w \W \b \B   by Unicode's properties White_Space and Alphabetic, marks and the rest
//   \h \v \uHHHH        a hexadecimal digit, a vertical tab, a character
//   \p{Name} of a script means the script, not its extensions
//   [a[bc]], [a&&[^b]]  nested classes and intersections, which become lookaheads
//   {1,3}+ {,3}         a repeated group, not a possessive one; 0 to 3
//   (?m)                a point matches newlines, too
// Syntax that only one of the two has is left unchanged: PCRE2 refuses it, or gives it its own
// meaning.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

std::string spell_for_pcre2(std::string_view regex);

}  // namespace hearth
