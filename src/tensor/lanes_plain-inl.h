// Lanes for any processor. tensor/lanes-inl.h describes the names.
#pragma once

#include <cstddef>

namespace hearth {
namespace {
constexpr size_t kLanes = 4;
}  // namespace
}  // namespace hearth

// The header below needs kLanes before it.
#include "tensor/lanes-inl.h"

namespace hearth {
namespace {

inline LanePairs joined(LaneInts first, LaneInts second) {
  return (LanePairs)(((LaneBits)first & 0xffff) | (LaneBits)second << 16);
}
inline LaneInts rounded(LaneInts product) { return ((product >> 14) + 1) >> 1; }

inline LanePairs mul_round(LanePairs a, LanePairs b) {
  return joined(rounded(first_of(a) * first_of(b)), rounded(second_of(a) * second_of(b)));
}
inline LanePairs min_of(LanePairs a, LanePairs b) { return a < b ? a : b; }
inline LanePairs max_of(LanePairs a, LanePairs b) { return a > b ? a : b; }
inline LanePairs less_or_zero(LanePairs a, LanePairs b) { return a > b ? a - b : LanePairs{}; }
inline LaneInts add_products(LaneInts sum, LanePairs a, LanePairs b) {
  return sum + first_of(a) * first_of(b) + second_of(a) * second_of(b);
}

}  // namespace
}  // namespace hearth
