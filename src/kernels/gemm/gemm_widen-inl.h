// BF16 weights for levels without instructions for bf16, where there are many rows: slices of the
// weights and of the activations become f32 once, and the tiles of F32 multiply those. Included by
// ISA files after their Vec16 and
//   Vec16Pair load_bf16_pairs(const std::byte* p)   of bf16 [16][2]: even elements, odd elements
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
// Rows of activations do not lie a power of two apart, which a cache has no room for.
constexpr size_t kWidenedStride = size_t{kBlock} * kWidenedBlocks + 16;

// P panels and m rows of f32 over `blocks` blocks.
struct WidenedWork {
  const std::byte* codes;
  const float* x;
  uint32_t m, blocks;
  bool first;  // of the slices
  float* out;
  size_t out_stride;
};

inline void widen_panel(const std::byte* codes, uint32_t blocks, std::byte* to) {
  constexpr size_t kPairBytes = 64, kAhead = 4096;
  for (size_t i = 0; i < blocks * (kBlock / 2); ++i) {
    prefetch(codes + kPairBytes * i + kAhead);
    const Vec16Pair pair = load_bf16_pairs(codes + kPairBytes * i);
    store(reinterpret_cast<float*>(to + 2 * kPairBytes * i), pair.even);
    store(reinterpret_cast<float*>(to + 2 * kPairBytes * i + kPairBytes), pair.odd);
  }
}

// Multiplies rows [row0, row0 + m) by work(std::integral_constant<int, panels>, WidenedWork), at
// most P panels at a time.
template <int P, typename Work>
void widened_rows(const GemmArgs& g, uint32_t row0, uint32_t m, Work work) {
  auto* x = reinterpret_cast<float*>(g.scratch);
  std::byte* panels = g.scratch + kWidenedRows * kWidenedStride * sizeof(float);
  static_assert(kWidenedRows * kWidenedStride * sizeof(float) + P * kWidenedPanelBytes <=
                kChainScratchBytes);
  for_even_pieces(g.block1 - g.block0, kWidenedBlocks, [&](uint32_t begin, uint32_t end) {
    const uint32_t block0 = g.block0 + begin, blocks = end - begin;
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
          constexpr size_t kBlockBytes = size_t{kBlock} * kPanelRows * sizeof(bf16_t);
          widen_panel(g.w.codes + g.w.codes_panel_bytes * (g.panel0 + p + i) + kBlockBytes * block0,
                      blocks, panels + kWidenedPanelBytes * i);
        }
        work(n, {.codes = panels,
                 .x = x,
                 .m = m,
                 .blocks = blocks,
                 .first = begin == 0,
                 .out = g.out + g.out_stride * row0 + kPanelRows * p,
                 .out_stride = g.out_stride});
      }
    };
    if constexpr (P > 1) advance(std::integral_constant<int, P>());
    advance(std::integral_constant<int, 1>());
  });
}

template <int P, typename Work>
void widened_chains(const GemmArgs& g, Work work) {
  for_even_pieces(g.m, kWidenedRows,
                  [&](uint32_t row, uint32_t end) { widened_rows<P>(g, row, end - row, work); });
}

}  // namespace
}  // namespace hearth
