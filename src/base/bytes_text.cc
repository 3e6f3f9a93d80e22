#include "base/bytes_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace hearth {

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kByteUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  // Values of 1023.995 and above would print as 1024.00 of the smaller unit.
  while (value >= 1023.995 && unit + 1 < std::size(kByteUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kByteUnits[unit]);
}

}  // namespace hearth
