// Questions about characters, as Unicode answers them, over bytes that may hold anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace hearth {

// The property White_Space.
bool is_white_space(char32_t c);
// Letters, marks, decimal digits, connecting punctuation, joiners: what words are made of (Unicode
// Technical Standard 18, \w).
bool is_word_character(char32_t c);

// How many bytes of white space `text` begins or ends with.
size_t white_space_before(std::string_view text);
size_t white_space_behind(std::string_view text);
// Whether the first or last character is one of a word.
bool begins_with_word(std::string_view text);
bool ends_with_word(std::string_view text);

}  // namespace hearth
