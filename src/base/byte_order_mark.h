// The byte order mark in UTF-8: U+FEFF at the start of a file or a body, which some editors and
// Windows PowerShell put there. It marks an encoding and is not text (Unicode standard, section
// 23.8); RFC 8259, section 8.1, lets a reader of JSON ignore it.
#pragma once

#include <string_view>

namespace hearth {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns `text` without a mark at its start. A second mark is text.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

}  // namespace hearth
