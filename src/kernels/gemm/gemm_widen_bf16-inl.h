// BF16 as a Source of gemm_widen-inl.h. Included by ISA files after their Vec16 and
//   Vec16Pair load_bf16_pairs(const std::byte* p)   of bf16 [16][2]: even elements, odd elements
#pragma once

#include "kernels/gemm/gemm_widen-inl.h"

namespace hearth {
namespace {

struct WidenBf16 {
  template <typename Fn>
  static void for_slices(const GemmArgs& g, uint32_t most, Fn&& fn) {
    for_even_pieces(g.block1 - g.block0, std::min(most, kWidenedBlocks),
                    [&](uint32_t begin, uint32_t end) { fn(g.block0 + begin, g.block0 + end); });
  }
  static void widen(const GemmArgs& g, uint32_t panel, uint32_t block0, uint32_t blocks,
                    size_t ahead, float* to) {
    constexpr size_t kPairBytes = 64;
    const std::byte* codes =
        g.w.codes + g.w.codes_panel_bytes * panel + kPairBytes * (kBlock / 2) * block0;
    for (size_t i = 0; i < blocks * (kBlock / 2); ++i) {
      if (ahead != 0) prefetch(codes + kPairBytes * i + ahead);
      store_pair(to + 2 * kPanelRows * i, load_bf16_pairs(codes + kPairBytes * i));
    }
  }
};

}  // namespace
}  // namespace hearth
