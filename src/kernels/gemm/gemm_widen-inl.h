// BF16 and FP8 weights with many rows, for levels without instructions for bf16. Slices of the
// weights and of the activations become f32 once, and the tiles of F32 multiply those. ISA files
// include it after their Vec16. A Source defines
//   for_slices(g, most, fn)        calls fn(begin, end) for slices of [g.block0, g.block1), at most
//                                  `most` and kWidenedBlocks each
//   widen(g, panel, block0, blocks, ahead, to)   makes f32 [32 * blocks][16] of a slice of a panel;
//                                  prefetches `ahead` bytes ahead, unless it is 0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm_segments-inl.h"

namespace hearth {
namespace {

// A slice of a panel takes 16 KiB, which stay in L1 for the tiles of all rows.
constexpr uint32_t kWidenedBlocks = 8;
constexpr size_t kWidenedPanelBytes = size_t{kWidenedBlocks} * kBlock * kPanelRows * sizeof(float);
constexpr uint32_t kWidenedRows = 256;
// The distance of rows of activations is no power of two, since too few rows at such distances fit
// a cache.
constexpr size_t kWidenedStride = size_t{kBlock} * kWidenedBlocks + 16;

// The work on P panels from `panel` on and m rows, as f32, over `blocks` blocks from block0 on.
struct WidenedWork {
  const std::byte* codes;
  const float* x;
  uint32_t m, blocks;
  uint32_t panel, block0;
  bool first;  // whether it is the first slice
  float* out;
  size_t out_stride;
};

inline void store_pair(float* to, const Vec16Pair& pair) {
  store(to, pair.even);
  store(to + kPanelRows, pair.odd);
}

// Multiplies rows [row0, row0 + m) by work(std::integral_constant<int, panels>, WidenedWork), at
// most P panels at a time.
template <typename Source, int P, typename Work>
void widened_rows(const GemmArgs& g, const GemmSchedule& s, uint32_t row0, uint32_t m, Work work) {
  auto* x = reinterpret_cast<float*>(g.scratch);
  std::byte* panels = g.scratch + kWidenedRows * kWidenedStride * sizeof(float);
  static_assert(kWidenedRows * kWidenedStride * sizeof(float) + P * kWidenedPanelBytes <=
                kChainScratchBytes);
  Source::for_slices(g, s.slice, [&](uint32_t block0, uint32_t end) {
    const uint32_t blocks = end - block0;
    for (uint32_t r = 0; r < m; ++r) {
      const bf16_t* from = g.a.bf16 + g.a.row_stride * (row0 + r) + size_t{kBlock} * block0;
      for (size_t k = 0; k < size_t{kBlock} * blocks; k += kPanelRows) {
        store(x + kWidenedStride * r + k, Vec16::load_bf16(from + k));
      }
    }
    uint32_t p = 0;
    auto advance = [&]<int N>(std::integral_constant<int, N> n) {
      for (; p + N <= g.panels; p += N) {
        for (uint32_t i = 0; i < N; ++i) {
          Source::widen(g, g.panel0 + p + i, block0, blocks, s.prefetch,
                        reinterpret_cast<float*>(panels + kWidenedPanelBytes * i));
        }
        work(n, {.codes = panels,
                 .x = x,
                 .m = m,
                 .blocks = blocks,
                 .panel = g.panel0 + p,
                 .block0 = block0,
                 .first = block0 == g.block0,
                 .out = g.out + g.out_stride * row0 + kPanelRows * p,
                 .out_stride = g.out_stride});
      }
    };
    if constexpr (P > 1) advance(std::integral_constant<int, P>());
    advance(std::integral_constant<int, 1>());
  });
}

template <typename Source, int P, typename Work>
void widened_chains(const GemmArgs& g, const GemmSchedule& s, Work work) {
  for_even_pieces(g.m, kWidenedRows, [&](uint32_t row, uint32_t end) {
    widened_rows<Source, P>(g, s, row, end - row, work);
  });
}

}  // namespace
}  // namespace hearth
