// Compares floats bit by bit, for tests that results have the same bits.
#pragma once

#include <cstring>
#include <vector>

namespace hearth {

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace hearth
