// enum_name<Enum::kLast>({"first", ...}, value): returns the name of an enum's value, given the
// names of all.
#pragma once

#include <cstddef>

#include "base/check.h"

namespace hearth {

template <auto kLast, size_t kCount>
const char* enum_name(const char* const (&names)[kCount], decltype(kLast) value) {
  static_assert(kCount == static_cast<size_t>(kLast) + 1, "a name for every value");
  HEARTH_CHECK(static_cast<size_t>(value) < kCount, "no value of the enum");
  return names[static_cast<size_t>(value)];
}

}  // namespace hearth
