#include "base/number_list.h"

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

}  // namespace hearth
