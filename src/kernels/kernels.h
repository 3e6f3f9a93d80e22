// The kernels of one ISA level as a table of pure functions. `kernels_for` returns the table of the
// level that was chosen at start (topology/cpu_features.h). It is an internal error if this build
// has no kernels for that level.
//
// Differences between processors of one level are data (kernels/processor_schedules.h):
// `kernels_for` returns the level with the schedules of the processor that the program runs on.
//
// The small kernels (norm, rope, activation, maximum, sum, recurrent) are lines of the table below;
// every level has all of them. A line makes the declarations, the member of Kernels and the
// dispatch (kernels.cc).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/activation/activation.h"
#include "kernels/attention/latent.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/schedule_text.h"
#include "kernels/limits/limits.h"
#include "kernels/maximum/maximum.h"
#include "kernels/norm/norm.h"
#include "kernels/quantize/quantize.h"
#include "kernels/recurrent/delta_gates.h"
#include "kernels/recurrent/delta_rule.h"
#include "kernels/recurrent/gates.h"
#include "kernels/recurrent/short_conv.h"
#include "kernels/rope/rope.h"
#include "kernels/sum/sum.h"
#include "topology/cpu_features.h"

// X(name, arguments, level) for each kernel <name>_<level>.
#define HEARTH_ELEMENTWISE_KERNELS(X, level) \
  X(rms_norm, RmsNormArgs, level)            \
  X(layer_norm, LayerNormArgs, level)        \
  X(head_moments, HeadMomentsArgs, level)    \
  X(norm_by, NormByArgs, level)              \
  X(rope, RopeArgs, level)                   \
  X(silu_mul, SiluMulArgs, level)            \
  X(clamped_swiglu, SiluMulArgs, level)      \
  X(gelu, GeluArgs, level)                   \
  X(gelu_tanh, GeluArgs, level)              \
  X(soft_cap, SoftCapArgs, level)            \
  X(panel_maxima, PanelMaximaArgs, level)    \
  X(add_vectors, AddVectorsArgs, level)      \
  X(weighted_sum, WeightedSumArgs, level)    \
  X(short_conv, ShortConvArgs, level)        \
  X(delta_rule, DeltaRuleArgs, level)        \
  X(delta_gates, DeltaGatesArgs, level)      \
  X(unit_norm, UnitNormArgs, level)          \
  X(gated_norm, GatedNormArgs, level)        \
  X(sigmoid_mul, SigmoidMulArgs, level)

namespace hearth {

#define HEARTH_DECLARE_ELEMENTWISE(name, args, level) void name##_##level(const args& a);
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, reference)
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, avx2)
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, avx512bw)
HEARTH_ELEMENTWISE_KERNELS(HEARTH_DECLARE_ELEMENTWISE, neon)
#undef HEARTH_DECLARE_ELEMENTWISE

#define HEARTH_PLACE_ELEMENTWISE(name, args, level) void (*name)(const args&);

struct Kernels {
  Isa isa;
  std::array<GemmKernel, kPackKinds> gemm;       // by PackKind
  std::array<QuantizeFn, kActFormats> quantize;  // by ActFormat
  std::array<KvStoreFn, kKvTypes> kv_store;      // by KvType
  std::array<AttendFn, kKvTypes> attend;         // by KvType
  uint32_t attend_places;                        // 1, or 4: AttendArgs::four_places
  std::array<KvStoreFn, kKvTypes> store_latent;  // by KvType (kernels/attention/latent.h)
  std::array<AttendFn, kKvTypes> attend_latent;  // by KvType
  std::array<ExpandFn, kKvTypes> expand_latent;  // by KvType
  AttendFn attend_expanded;
  MergeFn merge_spans;
  HEARTH_ELEMENTWISE_KERNELS(HEARTH_PLACE_ELEMENTWISE, any)
  LimitLoops limits;
  std::span<const ScheduleEntry> products;  // this processor's schedules for products of one size
};

#undef HEARTH_PLACE_ELEMENTWISE

const Kernels& kernels_for(Isa isa);

}  // namespace hearth
