// UTF-8, as the Unicode standard defines it (table 3-7: no surrogates, nothing overlong, nothing
// beyond U+10FFFF), over bytes that may hold anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

// Returns the length, 1 to 4, of the well-formed sequence that `bytes` begins with; 0 where there
// is none.
size_t utf8_sequence(std::string_view bytes);

// Returns the length of the longest beginning of `bytes` that the next bytes could complete to a
// well-formed sequence: 1 to 3, or 0 where the first byte starts none. `bytes` begins with no
// well-formed sequence.
size_t utf8_partial(std::string_view bytes);

// Returns whether all of it is well-formed.
bool is_well_formed(std::string_view bytes);

// Returns the code point of one well-formed sequence.
char32_t utf8_decode(std::string_view sequence);

void utf8_append(std::string& out, char32_t code_point);

}  // namespace hearth
