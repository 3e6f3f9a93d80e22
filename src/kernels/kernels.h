// The kernels of one ISA level as a table of pure functions. `kernels_for` gives the level chosen
// at start (topology/cpu_features.h); a level this build has no kernels for is an internal error.
#pragma once

#include <array>

#include "kernels/activation/activation.h"
#include "kernels/attention/latent.h"
#include "kernels/gemm/gemm.h"
#include "kernels/limits/limits.h"
#include "kernels/maximum/maximum.h"
#include "kernels/norm/norm.h"
#include "kernels/quantize/quantize.h"
#include "kernels/rope/rope.h"
#include "kernels/sum/sum.h"
#include "topology/cpu_features.h"

namespace hearth {

struct Kernels {
  Isa isa;
  std::array<GemmFn, kPackKinds> gemm;           // by PackKind
  std::array<QuantizeFn, kActFormats> quantize;  // by ActFormat
  std::array<KvStoreFn, kKvTypes> kv_store;      // by KvType
  std::array<AttendFn, kKvTypes> attend;         // by KvType
  bool attend_four_places;                       // AttendArgs::four_places
  std::array<KvStoreFn, kKvTypes> store_latent;  // by KvType (kernels/attention/latent.h)
  std::array<AttendFn, kKvTypes> attend_latent;  // by KvType
  MergeFn merge_spans;
  RmsNormFn rms_norm;
  LayerNormFn layer_norm;
  RopeFn rope;
  SiluMulFn silu_mul;
  GeluFn gelu;
  PanelMaximaFn panel_maxima;
  AddVectorsFn add_vectors;
  WeightedSumFn weighted_sum;
  LimitLoops limits;
};

const Kernels& kernels_for(Isa isa);

}  // namespace hearth
