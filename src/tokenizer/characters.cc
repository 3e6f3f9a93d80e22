#include "tokenizer/characters.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace hearth {

namespace {

// Returns the well-formed UTF-8 sequence at the end; empty where there is none.
std::string_view last_sequence(std::string_view text) {
  for (size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    std::string_view tail = text.substr(text.size() - length);
    if (utf8_sequence(tail) == length) return tail;
  }
  return {};
}

// Letters in circles and squares count as alphabetic, though they are symbols.
bool is_enclosed_letter(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

}  // namespace

bool is_white_space(char32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_word_character(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D || is_enclosed_letter(c);
  }
}

size_t white_space_before(std::string_view text) {
  size_t at = 0;
  while (size_t length = utf8_sequence(text.substr(at))) {
    if (!is_white_space(utf8_decode(text.substr(at, length)))) break;
    at += length;
  }
  return at;
}

size_t white_space_behind(std::string_view text) {
  size_t bytes = 0;
  while (true) {
    std::string_view last = last_sequence(text.substr(0, text.size() - bytes));
    if (last.empty() || !is_white_space(utf8_decode(last))) return bytes;
    bytes += last.size();
  }
}

bool begins_with_word(std::string_view text) {
  size_t length = utf8_sequence(text);
  return length > 0 && is_word_character(utf8_decode(text.substr(0, length)));
}

bool ends_with_word(std::string_view text) {
  std::string_view last = last_sequence(text);
  return !last.empty() && is_word_character(utf8_decode(last));
}

}  // namespace hearth
