// Unicode properties of characters, and of the characters at the ends of texts that may not be
// UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace hearth {

// Returns whether the character has the property White_Space.
bool is_white_space(char32_t c);
// Returns whether words are made of the character: letters, marks, decimal digits, connecting
// punctuation, joiners (Unicode Technical Standard 18, \w).
bool is_word_character(char32_t c);

// Return how many bytes of white space `text` begins or ends with.
size_t white_space_before(std::string_view text);
size_t white_space_behind(std::string_view text);
// Return whether the first or last character is one of a word.
bool begins_with_word(std::string_view text);
bool ends_with_word(std::string_view text);

}  // namespace hearth
