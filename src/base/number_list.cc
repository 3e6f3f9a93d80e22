#include "base/number_list.h"

#include <fmt/format.h>

#include <charconv>

namespace hearth {

std::optional<std::vector<uint32_t>> parse_number_list(std::string_view text, char separator,
                                                       uint32_t limit) {
  std::vector<uint32_t> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  auto number = [&]() -> std::optional<uint32_t> {
    uint32_t value = 0;
    auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value >= limit) return {};
    at = stop;
    return value;
  };
  for (;;) {
    std::optional<uint32_t> first = number(), last = first;
    if (first && at != end && *at == '-') {
      ++at;
      last = number();
    }
    if (!first || !last || *last < *first) return {};
    for (uint32_t n = *first; n <= *last; ++n) numbers.push_back(n);
    if (at == end) return numbers;
    if (*at++ != separator) return {};
  }
}

std::string number_list_text(const std::vector<uint32_t>& rising) {
  std::string text;
  for (size_t i = 0; i < rising.size();) {
    size_t end = i + 1;
    while (end < rising.size() && rising[end] == rising[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", rising[i]);
    if (end - i > 1) text += fmt::format("-{}", rising[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace hearth
