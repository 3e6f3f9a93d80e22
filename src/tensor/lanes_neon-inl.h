// Lanes in a NEON register. tensor/lanes-inl.h describes the names.
#pragma once

#include <arm_neon.h>

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

inline LanePairs mul_round(LanePairs a, LanePairs b) {
  return (LanePairs)vqrdmulhq_s16((int16x8_t)a, (int16x8_t)b);
}
inline LanePairs min_of(LanePairs a, LanePairs b) {
  return (LanePairs)vminq_s16((int16x8_t)a, (int16x8_t)b);
}
inline LanePairs max_of(LanePairs a, LanePairs b) {
  return (LanePairs)vmaxq_s16((int16x8_t)a, (int16x8_t)b);
}
inline LanePairs less_or_zero(LanePairs a, LanePairs b) {
  return (LanePairs)vqsubq_u16((uint16x8_t)a, (uint16x8_t)b);
}
inline LaneInts add_products(LaneInts sum, LanePairs a, LanePairs b) {
  const int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
  const int32x4_t high = vmull_high_s16((int16x8_t)a, (int16x8_t)b);
  return sum + (LaneInts)vpaddq_s32(low, high);
}

}  // namespace
}  // namespace hearth
