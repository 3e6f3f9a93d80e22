// GEMM: out[M, N] = A[M, K] W[N, K]^T over a packed shard (tensor/pack_spec.h), for every M from 1
// (GEMV) up. These are pure functions: no threads, no allocation, no globals.
//
// The numerical contract. Integer dot products of a block (or half block) are exact; what follows
// is one chain per output element, in ascending k, the same for every M and every ISA level:
//   kF32, kF16   acc = fma(w, a, acc) for each k
//   kBF16        acc = fma over k of bf16-rounded a, at levels without instructions for bf16.
//                At levels with them (multiplies_bf16) the last bits differ: AVX-512 and ARM take
//                pairs in ascending k (vdpbf16ps; bfdot and bfmmla, which is two bfdot and rounds
//                to odd), AMX adds the sums of the even and of the odd k of a block (tdpbf16ps)
//   kQ8_0, kQ4_0 acc = fma(float(dot32), ws * as, acc) for each block
//   kQ6_K        acc = fma(float(dot16[h]), (d * sc[h]) * as, acc) for h = 0, 1 of each block
//   kQ4_K, kQ5_K acc = fma(float(dot32), (d * sc) * as, acc); acc = fma(-(dmin * m), sum32, acc)
//   kL4, kL4K, kL3K, kL5, kL8, kL2, kL1
//                acc = fma(float(dot32), ws * as, acc) for each block
//   kL4H, kL3H   acc = fma(float(dot16[h]), ws[h] * as, acc) for h = 0, 1 of each block
//   kL4M, kL5M, kL8M, kIQ1_S
//                acc = fma(float(dot32), ws * as, acc); acc = fma(min, sum32, acc)
//   kQ2_K        acc = fma(float(dot16[h]), ws[h] * as, acc); acc = fma(min[h], sum16[h], acc)
//   kFP8, kFP8R  dot = kBF16's chain (AMX: that of AVX-512) from 0 over the blocks of a super-block
//                in [block0, block1); acc = fma(dot, ws, acc) for each, ws NaN for a row with a NaN
//                in the super-block. Where the scales are equal both kinds give the same bits
// For the integer kinds dot is the sum of (weight code - its offset, or the table's value) *
// activation code, ws the weight's whole scale, and as the activation's. Every product in
// parentheses is rounded to f32.
//
// Where K is cut (GemmArgs::cuts) each segment is such a chain from 0, and a binary tree adds them.
// Of n segments the left branch has the largest power of two below n, and each branch is added in
// the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/gemm/schedule.h"
#include "kernels/quantize/quantize.h"
#include "tensor/pack_spec.h"

namespace hearth {

// The place of a packed shard in memory.
struct WeightView {
  const std::byte* codes;
  const std::byte* scales;
  size_t codes_panel_bytes;
  size_t scales_panel_bytes;
  uint32_t super_offset;
  uint32_t supers;
  PackForm form;
  uint32_t group_bytes;  // for kinds with groups
};

WeightView weight_view(const PackSpec& spec, const std::byte* codes, const std::byte* scales);

// A gemm call may use this many bytes of scratch (64-byte aligned), whatever its sizes.
inline constexpr size_t kGemmScratchBytes = size_t{896} << 10;

// Returns a bound on the error of an element of a product, as a share of the sum of the magnitudes
// of its terms, if nothing underflows. Adding a term rounds once, and the scales in a term round
// three times more at most (Higham 2002, section 3.1). Results of two levels that sum in different
// orders differ by at most twice the bound.
double product_error_bound(uint64_t terms);

// Returns the activation format that a pack kind multiplies with.
ActFormat act_format_for(PackKind kind);

struct GemmArgs {
  WeightView w;
  uint32_t panel0, panels;  // 16-row panels of the shard
  uint32_t block0, block1;  // K blocks of the shard: [block0, block1)
  ActView a;                // row 0 of the M rows; block 0 is the shard's block 0
  uint32_t m;
  float* out;         // out[row * out_stride + 16 * (panel - panel0) + lane], overwritten
  size_t out_stride;  // floats, a multiple of 16
  std::byte* scratch;
  // The blocks where two segments meet, ascending within (block0, block1), at most kMaxCuts. Each
  // segment is a chain of its own.
  std::span<const uint32_t> cuts = {};
  // The schedule of the product, with values of the kernel's own menu. Empty: GemmKernel fills in
  // its default for such a product before it calls the kernel.
  GemmSchedule schedule = {};
};

inline constexpr uint32_t kMaxCuts = 7;

// The number of panels that kernels read side by side if there are few rows and several streams are
// read faster than one.
inline constexpr uint32_t kGemmStreams = 4;

using GemmFn = void (*)(const GemmArgs&);

// The kernel of a pack kind at a level, and its default schedules by ascending rows, the last one
// for kAnyRows (kernels/kernel_tables.h).
struct GemmKernel {
  GemmFn fn = nullptr;
  const GemmMenu* menu = nullptr;
  std::span<const RowsDefault> defaults = {};

  const GemmSchedule& default_for(uint32_t rows) const { return schedule_for(defaults, rows); }
  void operator()(GemmArgs args) const {
    if (args.schedule.is_default()) args.schedule = default_for(args.m);
    fn(args);
  }
};

}  // namespace hearth
