// ByteSet: a set of byte values.
#pragma once

#include <bitset>
#include <cstdint>

namespace hearth {

using ByteSet = std::bitset<256>;

// Returns the bytes from `first` to `last`, both included.
inline ByteSet byte_range(uint8_t first, uint8_t last) {
  ByteSet set;
  for (uint32_t byte = first; byte <= last; ++byte) set.set(byte);
  return set;
}

inline ByteSet all_bytes() { return ~ByteSet(); }

}  // namespace hearth
