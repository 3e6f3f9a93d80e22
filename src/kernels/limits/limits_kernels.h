// The table of limit loops: one line a unit; every ISA level has all of them, if only to say that
// it lacks the instruction. The line makes the declarations below and the dispatch (kernels.cc).
#pragma once

#include "kernels/limits/limits.h"

// X(ArithmeticUnit, name, level) for each loop ops_<name>_<level>.
#define HEARTH_UNIT_LOOPS(X, level) \
  X(kF32Fma, f32_fma, level)        \
  X(kInt16Dot, int16_dot, level)    \
  HEARTH_AMX_UNIT_LOOPS(X, level)

// AMX has loops of its own for these units only.
#define HEARTH_AMX_UNIT_LOOPS(X, level) \
  X(kBf16Dot, bf16_dot, level)          \
  X(kInt8Dot, int8_dot, level)

namespace hearth {

#define HEARTH_DECLARE_UNIT(unit, name, level) double ops_##name##_##level(size_t rounds);
#define HEARTH_DECLARE_LIMITS(level)            \
  HEARTH_UNIT_LOOPS(HEARTH_DECLARE_UNIT, level) \
  uint64_t read_##level(const std::byte* p, size_t bytes);
HEARTH_DECLARE_LIMITS(reference)
HEARTH_DECLARE_LIMITS(avx2)
HEARTH_DECLARE_LIMITS(avx512)
HEARTH_DECLARE_LIMITS(neon)
HEARTH_AMX_UNIT_LOOPS(HEARTH_DECLARE_UNIT, amx)
#undef HEARTH_DECLARE_LIMITS
#undef HEARTH_DECLARE_UNIT

}  // namespace hearth
