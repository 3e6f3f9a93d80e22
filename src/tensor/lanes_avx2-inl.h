// Lanes in an AVX2 register. tensor/lanes-inl.h describes the names.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace hearth {
namespace {
constexpr size_t kLanes = 8;
}  // namespace
}  // namespace hearth

// The header below needs kLanes before it.
#include "tensor/lanes-inl.h"

namespace hearth {
namespace {

inline LanePairs mul_round(LanePairs a, LanePairs b) {
  return (LanePairs)_mm256_mulhrs_epi16((__m256i)a, (__m256i)b);
}
inline LanePairs min_of(LanePairs a, LanePairs b) {
  return (LanePairs)_mm256_min_epi16((__m256i)a, (__m256i)b);
}
inline LanePairs max_of(LanePairs a, LanePairs b) {
  return (LanePairs)_mm256_max_epi16((__m256i)a, (__m256i)b);
}
inline LanePairs less_or_zero(LanePairs a, LanePairs b) {
  return (LanePairs)_mm256_subs_epu16((__m256i)a, (__m256i)b);
}
inline LaneInts add_products(LaneInts sum, LanePairs a, LanePairs b) {
  return sum + (LaneInts)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

}  // namespace
}  // namespace hearth
