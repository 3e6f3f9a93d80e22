// Decimal: a number of a JSON document by its digits, exactly as they are written.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct Decimal {
  bool negative = false;
  std::string whole;     // without leading zeros: "" of 0.5
  std::string fraction;  // without trailing zeros

  bool is_zero() const { return whole.empty() && fraction.empty(); }
  bool operator==(const Decimal&) const = default;
};

// `text` is a number of JSON whose exponent has at most three digits.
Decimal parse_decimal(std::string_view text);
// Returns nothing where `value` is no number.
std::optional<Decimal> decimal_of(const boost::json::value& value);
// Returns nothing where it is no whole number of at most 10^18, or below 0. 2.0 is one.
std::optional<uint64_t> count_of(const boost::json::value& value);

}  // namespace hearth
