// The table of limit loops, one line a unit. Every ISA level has all loops; a loop returns 0 if the
// level lacks the instruction. A line makes the declarations below and the dispatch (kernels.cc).
#pragma once

#include "kernels/limits/limits.h"

// X(ArithmeticUnit, name, level) for each loop ops_<name>_<level>.
#define HEARTH_UNIT_LOOPS(X, level) \
  X(kF32Fma, f32_fma, level)        \
  X(kInt16Dot, int16_dot, level)    \
  HEARTH_AMX_UNIT_LOOPS(X, level)

// Lists of units for levels that have only some loops of their own, and take all other loops from
// another level.
#define HEARTH_AMX_UNIT_LOOPS(X, level) \
  HEARTH_BF16_UNIT_LOOPS(X, level)      \
  HEARTH_INT8_UNIT_LOOPS(X, level)
#define HEARTH_VNNI_UNIT_LOOPS(X, level) \
  X(kInt16Dot, int16_dot, level)         \
  HEARTH_INT8_UNIT_LOOPS(X, level)
#define HEARTH_BF16_UNIT_LOOPS(X, level) X(kBf16Dot, bf16_dot, level)
#define HEARTH_INT8_UNIT_LOOPS(X, level) X(kInt8Dot, int8_dot, level)

namespace hearth {

#define HEARTH_DECLARE_UNIT(unit, name, level) double ops_##name##_##level(size_t rounds);
#define HEARTH_DECLARE_LIMITS(level)            \
  HEARTH_UNIT_LOOPS(HEARTH_DECLARE_UNIT, level) \
  uint64_t read_##level(const std::byte* p, size_t bytes);
HEARTH_DECLARE_LIMITS(reference)
HEARTH_DECLARE_LIMITS(avx2)
HEARTH_DECLARE_LIMITS(avx512bw)
HEARTH_DECLARE_LIMITS(neon)
HEARTH_VNNI_UNIT_LOOPS(HEARTH_DECLARE_UNIT, avxvnni)
HEARTH_VNNI_UNIT_LOOPS(HEARTH_DECLARE_UNIT, avx512)
HEARTH_BF16_UNIT_LOOPS(HEARTH_DECLARE_UNIT, avx512bf16)
HEARTH_AMX_UNIT_LOOPS(HEARTH_DECLARE_UNIT, amx)
HEARTH_INT8_UNIT_LOOPS(HEARTH_DECLARE_UNIT, i8mm)
HEARTH_BF16_UNIT_LOOPS(HEARTH_DECLARE_UNIT, i8mmbf16)
#undef HEARTH_DECLARE_LIMITS
#undef HEARTH_DECLARE_UNIT

}  // namespace hearth
