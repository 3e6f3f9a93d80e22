// Regular expressions in Oniguruma's syntax (its Ruby dialect, which Hugging Face's tokenizers use)
// written out for PCRE2. What the two write alike but mean otherwise:
//   \s \S \w \W \b \B   by Unicode's properties White_Space and Alphabetic, marks and the rest
//   \h \v \uHHHH        a hexadecimal digit, a vertical tab, a character
//   \p{Name} of a script means the script, not its extensions
//   [a[bc]], [a&&[^b]]  classes within classes, and what several have in common: by looking ahead
//   {1,3}+ {,3}         a group repeated, nothing possessive; 0 to 3
//   (?m)                a point stands for newlines, too
// What only one of the two has is left as it is: PCRE2 then refuses it, or does what it does.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

std::string spell_for_pcre2(std::string_view regex);

}  // namespace hearth
