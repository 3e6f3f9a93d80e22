// Bit equality where it is the promise under test.
#pragma once

#include <cstring>
#include <vector>

namespace hearth {

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace hearth
