// The table of the small kernels (norm, rope, activation, maximum, sum): one line a kernel; every
// ISA level has all of them. The line makes the declarations below and the dispatch (kernels.cc).
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/maximum/maximum.h"
#include "kernels/norm/norm.h"
#include "kernels/rope/rope.h"
#include "kernels/sum/sum.h"

// X(name, arguments, level) for each kernel <name>_<level>; the name is its place in Kernels too.
#define HEARTH_ELEMENTWISE_KERNELS(X, level) \
  X(rms_norm, RmsNormArgs, level)            \
  X(layer_norm, LayerNormArgs, level)        \
  X(rope, RopeArgs, level)                   \
  X(silu_mul, SiluMulArgs, level)            \
  X(gelu, GeluArgs, level)                   \
  X(panel_maxima, PanelMaximaArgs, level)    \
  X(add_vectors, AddVectorsArgs, level)      \
  X(weighted_sum, WeightedSumArgs, level)

namespace hearth {

#define HEARTH_DECLARE_ELEMENTWISE(name, args, level) void name##_##level(const args& a);
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, reference)
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, avx2)
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, avx512bw)
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, neon)
#undef HEARTH_DECLARE_ELEMENTWISE

}  // namespace hearth
