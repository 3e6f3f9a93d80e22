// Kernels of the pack kinds with codes of 8 bits, for levels whose product of such codes takes more
// instructions than that of int16. With many rows, a slice of a panel and of the activations is
// widened to int16 once, and the tiles of all rows and panels read it from L1. With few rows, tiles
// read the codes as they are. This file comes after gemm_int8-inl.h. Besides what that file needs,
// a level defines
//   widen_codes(codes)               of 8 bits; their offset is subtracted
//   widen_block(x, to)               32 activation codes: the even ones, then the odd ones
//   DotsFor<16, Rows>
#pragma once

#include "kernels/gemm/gemm_int8-inl.h"

namespace hearth {
namespace {

// The most blocks of a slice. Each has 1 KiB of codes and up to 256 B of scales.
constexpr uint16_t kMaxWideSliceBlocks = 28;
constexpr uint32_t kWideRowBlock = 256;
constexpr size_t kWideBlockBytes = 2 * kBlock;
// The distance of rows of activations is no power of two, since too few rows at such distances fit
// a cache.
constexpr size_t wide_row_bytes(size_t slice) { return kWideBlockBytes * (slice | 1); }

constexpr GemmMenu kWideMenu = {.tiles = kInt8Tiles,
                                .slice = {2, kMaxWideSliceBlocks},
                                .unpack_rows = unpack_thresholds(true),
                                .prefetch = kPrefetchRange,
                                .to_l2 = false};

template <int Halves, bool Min>
struct KindWide : KindBytes<16, 0, Halves, Min> {
  static constexpr size_t kCodeBytes = 1024;

  static WideCodes group(const std::byte* codes, int g, NoTable) {
    return {load_codes(codes + 128 * g), load_codes(codes + 128 * g + 64)};
  }
};

template <typename Kind>
using WideOf = KindWide<Kind::kHalves, Kind::kMin>;

template <typename Kind>
PanelView widen_slice(const PanelView& w, uint32_t blocks, const GemmSchedule& s,
                      std::byte* scratch) {
  using To = WideOf<Kind>;
  std::byte* to_codes = scratch;
  std::byte* to_scales = scratch + To::kCodeBytes * s.slice;
  const PanelView to = unpacked_view(to_codes, to_scales);
  const auto lookup = Kind::lookup(w);
  for (uint32_t b = w.block; b < w.block + blocks; ++b, to_codes += To::kCodeBytes) {
    prefetch_block<Kind>(w, b, s.prefetch);
    HEARTH_UNROLL
    for (int g = 0; g < 8; ++g) {
      const WideCodes wide = widen_codes(Kind::group(w.codes + Kind::kCodeBytes * b, g, lookup));
      store_codes(to_codes + 128 * g, wide.even);
      store_codes(to_codes + 128 * g + 64, wide.odd);
    }
    auto put = [&](Vec16 x) {
      store(reinterpret_cast<float*>(to_scales), x);
      to_scales += 64;
    };
    for (int h = 0; h < Kind::kHalves; ++h) put(Kind::scale(w, b, h));
    if constexpr (Kind::kMin) {
      for (int h = 0; h < Kind::kHalves; ++h) put(Kind::min(w, b, h));
    }
  }
  return to;
}

// Multiplies rows [row0, row0 + m) of `all`.
template <typename Kind>
void wide_rows(const GemmArgs& all, uint32_t row0, uint32_t m) {
  const GemmSchedule& s = all.schedule;
  GemmArgs g = all;
  g.m = m;
  std::byte* rows = g.scratch;
  const size_t row_bytes = wide_row_bytes(s.slice);
  for_even_pieces(g.block1 - g.block0, s.slice, [&](uint32_t begin, uint32_t end) {
    const uint32_t block0 = g.block0 + begin, blocks = end - begin;
    for (uint32_t r = 0; r < m; ++r) {
      const int8_t* x = g.a.codes + g.a.row_stride * (row0 + r) + size_t{kBlock} * block0;
      for (uint32_t i = 0; i < blocks; ++i) {
        widen_block(x + kBlock * i, rows + row_bytes * r + kWideBlockBytes * i);
      }
    }
    auto from = [&](uint32_t row) {
      Int8Rows wide = rows_from<Kind>(g.a, row0 + row, block0);
      wide.codes = rows + row_bytes * row;
      wide.codes_stride = row_bytes;
      return wide;
    };
    for (uint32_t p = 0; p < g.panels; ++p) {
      const PanelView w = panel_of(g, g.panel0 + p, block0);
      const PanelView wide = widen_slice<Kind>(w, blocks, s, g.scratch + row_bytes * kWideRowBlock);
      int8_tiles<WideOf<Kind>, 1>(g, one_panel_rows(s), wide, from, blocks, begin == 0, 0,
                                  g.out + g.out_stride * row0 + kPanelRows * p);
    }
  });
}

template <typename Kind>
void wide_chains(const GemmArgs& g) {
  static_assert(wide_row_bytes(kMaxWideSliceBlocks) * kWideRowBlock +
                    (WideOf<Kind>::kCodeBytes + WideOf<Kind>::kScaleBytes) * kMaxWideSliceBlocks <=
                kChainScratchBytes);
  if (g.m < g.schedule.unpack_rows) return int8_chains<Kind>(g);
  for_even_pieces(g.m, kWideRowBlock,
                  [&](uint32_t row, uint32_t end) { wide_rows<Kind>(g, row, end - row); });
}

template <typename Kind>
void gemm_wide(const GemmArgs& g) {
  for_segments(g, joint_panels(g.schedule, g.m), wide_chains<Kind>);
}

template <typename Kind>
constexpr GemmMenu int8_or_wide_menu() {
  if constexpr (Kind::kBits == 8) {
    return kWideMenu;
  } else {
    return kInt8Menu<Kind>;
  }
}

template <typename Kind>
void gemm_int8_or_wide(const GemmArgs& g) {
  if constexpr (Kind::kBits == 8) {
    gemm_wide<Kind>(g);
  } else {
    gemm_int8<Kind>(g);
  }
}

}  // namespace
}  // namespace hearth

// Defines the kernels of a level like HEARTH_DEFINE_INT8_GEMM.
#define HEARTH_DEFINE_WIDE_GEMM(kind, name, level)                                              \
  constinit const GemmMenu menu_##name##_##level = int8_or_wide_menu<KindOf<PackKind::kind>>(); \
  void gemm_##name##_##level(const GemmArgs& args) {                                            \
    gemm_int8_or_wide<KindOf<PackKind::kind>>(args);                                            \
  }
