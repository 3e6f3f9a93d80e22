// Decimal: a number of a JSON document by its digits, without rounding.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct Decimal {
  bool negative = false;
  std::string whole;     // without leading zeros: "" for 0.5
  std::string fraction;  // without trailing zeros

  bool is_zero() const { return whole.empty() && fraction.empty(); }
  bool operator==(const Decimal&) const = default;
};

// Parses a JSON number whose exponent has at most three digits.
Decimal parse_decimal(std::string_view text);
// Returns the number; none where `value` is not one.
std::optional<Decimal> decimal_of(const boost::json::value& value);
// Returns the value if it is a whole number from 0 to 10^18, such as 2 or 2.0; none for other
// values.
std::optional<uint64_t> count_of(const boost::json::value& value);

}  // namespace hearth
