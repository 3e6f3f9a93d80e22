// FP8 for levels without instructions for bf16 (gemm_fp8-inl.h). With many rows, slices of weights
// and activations become f32 once (gemm_widen-inl.h). A slice ends where a super-block does. The
// tiles of F32 compute its sums, which are added to the outputs times the rows' scales.
#pragma once

#include "kernels/gemm/gemm_fp8-inl.h"
#include "kernels/gemm/gemm_widen_float-inl.h"

namespace hearth {
namespace {

struct WidenFp8 {
  template <typename Fn>
  static void for_slices(const GemmArgs& g, uint32_t, Fn&& fn) {
    static_assert(kFp8SuperBlocks <= kWidenedBlocks);
    for (uint32_t begin = g.block0; begin < g.block1;) {
      const uint32_t end = std::min(g.block1, fp8_super_end(g.w, begin));
      fn(begin, end);
      begin = end;
    }
  }
  static void widen(const GemmArgs& g, uint32_t panel, uint32_t block0, uint32_t blocks,
                    size_t ahead, float* to) {
    const std::byte* codes = g.w.codes + g.w.codes_panel_bytes * panel + kFp8BlockBytes * block0;
    const FromCodes source;
    for (size_t i = 0; i < blocks * (kBlock / 4); ++i) {
      if (ahead != 0) prefetch(codes + kFp8GroupBytes * i + ahead);
      const Fp8Pairs w = source.load(codes + kFp8GroupBytes * i);
      store_pair(to + 4 * kPanelRows * i, bf16_pairs(w.first));
      store_pair(to + 4 * kPanelRows * i + 2 * kPanelRows, bf16_pairs(w.second));
    }
  }
};

template <typename Scales, int P>
void fp8_widened_tiles(const GemmArgs& g, const GemmSchedule& s, const WidenedWork& w) {
  constexpr int kRows = Fp8Shape::kTileRows;
  constexpr size_t kStride = size_t{kPanelRows} * P;
  alignas(64) float sums[kRows * kStride];
  Vec16 scales[P];
  const uint32_t super = (w.block0 + g.w.super_offset) / kFp8SuperBlocks;
  for (uint32_t p = 0; p < P; ++p) {
    const std::byte* of_panel = g.w.scales + g.w.scales_panel_bytes * (w.panel + p);
    scales[p] = Scales::load(of_panel + Scales::kBytes * super);
  }
  for_even_pieces(w.m, fp8_rows<P>(s, /*decoded=*/true), [&](uint32_t row, uint32_t row_end) {
    const auto tile = widened_tile(w, row, /*first=*/true, sums, kStride);
    float_tile_of<FloatF32, P>(row_end - row, tile, std::make_integer_sequence<int, kRows>());
    for (size_t r = row; r < row_end; ++r) {
      HEARTH_UNROLL
      for (size_t p = 0; p < P; ++p) {
        float* out = w.out + w.out_stride * r + kPanelRows * p;
        const Vec16 dot = Vec16::load(sums + kStride * (r - row) + kPanelRows * p);
        store(out, fma(dot, scales[p], start_sum(out, w.first)));
      }
    }
  });
}

template <typename Scales>
void fp8_widened_chains(const ChainArgs& g, const GemmSchedule& s) {
  if (g.block0 == g.block1) return fp8_zeros(g);
  widened_chains<WidenFp8, Fp8Shape::kPanels>(
      g, s, [&]<int P>(std::integral_constant<int, P>, const WidenedWork& w) {
        fp8_widened_tiles<Scales, P>(g, s, w);
      });
}

template <typename Scales>
void gemm_fp8_widened(const GemmArgs& g) {
  gemm_fp8_with<Scales>(g, fp8_widened_chains<Scales>);
}

}  // namespace
}  // namespace hearth
