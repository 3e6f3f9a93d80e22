#include "grammar/schema_decimal.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {

Decimal parse_decimal(std::string_view text) {
  Decimal number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  const int exponent = mark < text.size() ? std::stoi(std::string(text.substr(mark + 1))) : 0;
  const size_t point = std::min(text.substr(0, mark).find('.'), mark);
  std::string digits(text.substr(0, point));
  if (point < mark) digits += text.substr(point + 1, mark - point - 1);
  auto whole = static_cast<int64_t>(point) + exponent;
  if (whole < 0) {
    digits.insert(0, static_cast<size_t>(-whole), '0');
    whole = 0;
  }
  if (static_cast<size_t>(whole) > digits.size()) digits.resize(static_cast<size_t>(whole), '0');
  number.whole = digits.substr(0, static_cast<size_t>(whole));
  number.whole.erase(0, std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  number.fraction = digits.substr(static_cast<size_t>(whole));
  number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
  if (number.is_zero()) number.negative = false;
  return number;
}

std::optional<Decimal> decimal_of(const boost::json::value& value) {
  if (const int64_t* number = value.if_int64()) return parse_decimal(fmt::to_string(*number));
  if (const uint64_t* number = value.if_uint64()) return parse_decimal(fmt::to_string(*number));
  if (const double* number = value.if_double()) return parse_decimal(fmt::format("{}", *number));
  return std::nullopt;
}

std::optional<uint64_t> count_of(const boost::json::value& value) {
  const std::optional<Decimal> number = decimal_of(value);
  if (!number || number->negative || !number->fraction.empty() || number->whole.size() > 18) {
    return std::nullopt;
  }
  return number->whole.empty() ? 0 : std::stoull(number->whole);
}

}  // namespace hearth
