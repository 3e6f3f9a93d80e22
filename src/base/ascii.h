// ASCII letters and digits, independent of the locale.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

constexpr bool is_letter(char c) { return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'; }

inline std::string ascii_lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = ascii_lower(c);
  return low;
}

inline std::string ascii_upper(std::string_view text) {
  std::string high(text);
  for (char& c : high) c = ascii_upper(c);
  return high;
}

// Returns the value of a hexadecimal digit; -1 for other characters.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  char low = ascii_lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

}  // namespace hearth
