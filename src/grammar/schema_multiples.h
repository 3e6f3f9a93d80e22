// Regular expressions for the multiples of a number.
#pragma once

#include <cstdint>

#include "grammar/regex_set.h"

namespace hearth {

inline constexpr uint64_t kMaxDivisor = uint64_t{1} << 27;
inline constexpr uint32_t kMaxPlaces = 15;

// Matches the numbers DIGITS or DIGITS.DIGITS that are whole multiples of divisor / 10^places. 1 <=
// divisor < kMaxDivisor, places <= kMaxPlaces.
RegexId multiples_of(RegexSet& set, uint64_t divisor, uint32_t places);

}  // namespace hearth
