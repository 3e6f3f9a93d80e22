// Rounding to multiples, of sizes and offsets.
#pragma once

#include <type_traits>

namespace hearth {

// Returns the least multiple of `to` that is not below `value`; their sum must not overflow. `to` >
// 0.
template <typename T>
constexpr T round_up(T value, std::type_identity_t<T> to) {
  return (value + to - 1) / to * to;
}

}  // namespace hearth
