#include "base/printable.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace hearth {

namespace {

bool is_visible(utf8proc_int32_t codepoint) {
  constexpr utf8proc_category_t kHidden[] = {
      UTF8PROC_CATEGORY_CN, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_CS,
      UTF8PROC_CATEGORY_CO, UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZP};
  return std::ranges::find(kHidden, utf8proc_category(codepoint)) == std::end(kHidden);
}

}  // namespace

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t at = 0;
  while (at < text.size() && at < max_bytes) {
    utf8proc_int32_t codepoint = -1;
    size_t left = std::min<size_t>(text.size() - at, 4);
    utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(left), &codepoint);
    size_t bytes = length > 0 ? static_cast<size_t>(length) : 1;
    if (length > 0 && codepoint == '\\') {
      out += "\\\\";
    } else if (length > 0 && is_visible(codepoint)) {
      out += text.substr(at, bytes);
    } else {
      for (char c : text.substr(at, bytes)) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    at += bytes;
  }
  if (at < text.size()) out += "...";
  return out;
}

}  // namespace hearth
