// The table of quantisers, one line an activation format. Every ISA level has all of them. A line
// makes the declarations below, the dispatch (kernels.cc) and the tests.
#pragma once

#include "kernels/quantize/quantize.h"

// X(ActFormat, name, level) for each function quantize_<name>_<level>.
#define HEARTH_QUANTIZE_KERNELS(X, level) \
  X(kF32, f32, level)                     \
  X(kBF16, bf16, level)                   \
  X(kQ8, q8, level)

namespace hearth {

#define HEARTH_DECLARE_QUANTIZE(format, name, level) \
  void quantize_##name##_##level(const QuantizeArgs& args);
HEARTH_QUANTIZE_KERNELS(HEARTH_DECLARE_QUANTIZE, reference)
HEARTH_QUANTIZE_KERNELS(HEARTH_DECLARE_QUANTIZE, avx2)
HEARTH_QUANTIZE_KERNELS(HEARTH_DECLARE_QUANTIZE, avx512bw)
HEARTH_QUANTIZE_KERNELS(HEARTH_DECLARE_QUANTIZE, neon)
#undef HEARTH_DECLARE_QUANTIZE

}  // namespace hearth
