// Compares floats for bit equality, in tests of that promise.
#pragma once

#include <cstring>
#include <vector>

namespace hearth {

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace hearth
