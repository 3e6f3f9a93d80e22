// Lanes in an AVX-512 register, with BW and VNNI. tensor/lanes-inl.h describes the names.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace hearth {
namespace {
constexpr size_t kLanes = 16;
}  // namespace
}  // namespace hearth

// The header below needs kLanes before it.
#include "tensor/lanes-inl.h"

namespace hearth {
namespace {

inline LanePairs mul_round(LanePairs a, LanePairs b) {
  return (LanePairs)_mm512_mulhrs_epi16((__m512i)a, (__m512i)b);
}
inline LanePairs min_of(LanePairs a, LanePairs b) {
  return (LanePairs)_mm512_min_epi16((__m512i)a, (__m512i)b);
}
inline LanePairs max_of(LanePairs a, LanePairs b) {
  return (LanePairs)_mm512_max_epi16((__m512i)a, (__m512i)b);
}
inline LanePairs less_or_zero(LanePairs a, LanePairs b) {
  return (LanePairs)_mm512_subs_epu16((__m512i)a, (__m512i)b);
}
inline LaneInts add_products(LaneInts sum, LanePairs a, LanePairs b) {
  return (LaneInts)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}

}  // namespace
}  // namespace hearth
