// BF16 by fused multiply-adds over Vec16, for levels without instructions for bf16. Before this
// file a level includes its Vec16 and defines
//   Vec16Pair bf16_pairs(Codes c);                  of bf16 [16][2]: even elements, odd elements
//   Vec16Pair load_bf16_pairs(const std::byte* p)   the same, loaded
//   Vec16Pair all_bf16_pair(const bf16_t* p);       both elements of a pair in all lanes
// Bf16Pair and add_pairs are the ones that gemm_fp8-inl.h needs.
#pragma once

#include "kernels/gemm/gemm_float-inl.h"
#include "kernels/gemm/gemm_widen_bf16-inl.h"
#include "kernels/gemm/gemm_widen_float-inl.h"

namespace hearth {
namespace {

using Bf16Pair = Vec16Pair;

inline Vec16 add_pairs(const Bf16Pair& w, const Bf16Pair& x, Vec16 acc) {
  return fma(w.odd, x.odd, fma(w.even, x.even, acc));
}

struct FloatBF16 {
  static constexpr int kTileRows = 4;  // pairs take twice the registers
  static constexpr int kTwoPanelRows = 3, kFourPanelRows = 1;
  static constexpr size_t kStep = 2;
  static constexpr size_t kStepBytes = 64;
  using Element = bf16_t;
  using Step = Bf16Pair;
  template <int R>
  using Sums = LaneSums<FloatBF16, R>;

  static Step load(const std::byte* codes) { return load_bf16_pairs(codes); }
  static Step all(const bf16_t* x) { return all_bf16_pair(x); }
  static Vec16 add(const Step& w, const Step& x, Vec16 acc) { return add_pairs(w, x, acc); }
  static const bf16_t* elements(const ActView& a) { return a.bf16; }
};

constexpr GemmMenu kBf16Menu = kFloatMenu<FloatBF16, /*Unpacks=*/true>;

// Multiplies BF16 by the chain of F32. Widened slices take tiles of F32 with all rows that fit the
// registers, whatever tile the schedule has.
inline void bf16_chains(const GemmArgs& g) {
  constexpr uint32_t kRows = FloatF32::kTileRows;
  const GemmSchedule& s = g.schedule;
  if (g.m < s.unpack_rows) return float_chains<FloatBF16>(g, s);
  widened_chains<WidenBf16, 1>(g, s, [](std::integral_constant<int, 1>, const WidenedWork& w) {
    for_even_pieces(w.m, kRows, [&](uint32_t row, uint32_t row_end) {
      const auto tile = widened_tile(w, row, w.first, w.out + w.out_stride * row, w.out_stride);
      float_tile_of<FloatF32, 1>(row_end - row, tile, std::make_integer_sequence<int, kRows>());
    });
  });
}

inline void gemm_bf16(const GemmArgs& g) {
  for_segments(g, joint_panels(g.schedule, g.m), bf16_chains);
}

}  // namespace
}  // namespace hearth
