// The tiles of the plain pack kinds over AVX-512, for the GEMM files of its levels. Each output is
// one chain of additions in ascending k, so a tile needs 8 outputs or more to fill both pipes: a
// few rows take 4 panels at a time, many rows 2 panels x 12 rows, which reads 14 registers for 24
// FMAs (4 panels x 6 rows read 10).
#pragma once

#include "kernels/gemm/gemm_avx512-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kTileRows = 12;
constexpr uint32_t kTilePanels = 2;
constexpr uint32_t kWidePanels = 4, kMaxWideRows = 6;
// Widened weights (gemm_avx512bw_float.cc) are multiplied kTilePanels panels at a time.
constexpr TileRange kMenuTiles[] = {{1, 1, kTileRows, kTilePanels},
                                    {kTilePanels, 1, kTileRows},
                                    {kWidePanels, 1, kMaxWideRows, kTilePanels, kTileRows}};
// The most bytes that the codes of one panel may have in a slice of K.
constexpr size_t kSliceBytes = size_t{256} << 10;

// A kind defines how many elements of K a step takes, the bytes of 16 rows of them, how they are
// loaded, and how their products with one row's elements are added.
struct KindF32 {
  static constexpr size_t kStep = 1;
  static constexpr size_t kStepBytes = 64;
  using Element = float;
  using Register = __m512;

  static Register load(const std::byte* codes) { return load_f32(codes); }
  static Register broadcast(const float* x) { return _mm512_set1_ps(*x); }
  static __m512 add(__m512 acc, Register w, Register x) { return _mm512_fmadd_ps(w, x, acc); }
  static const float* elements(const ActView& a) { return a.f32; }
};

struct KindF16 : KindF32 {
  static constexpr size_t kStepBytes = 32;
  static Register load(const std::byte* codes) { return load_f16(codes); }
};

template <typename Kind>
constexpr size_t kBlockBytes = Kind::kStepBytes*(kBlock / Kind::kStep);

// Unpacks: whether codes are widened once for all tiles if there are many rows.
template <typename Kind, bool Unpacks = false>
constexpr GemmMenu kMenu = {.tiles = kMenuTiles,
                            .slice = {2, kSliceBytes / kBlockBytes<Kind>},
                            .unpack_rows = unpack_thresholds(Unpacks),
                            .prefetch = kPrefetchRange,
                            .to_l2 = true};

// The prefetches of a tile: of codes that lie `ahead` bytes behind those that it loads; nothing if
// `ahead` is 0.
struct Prefetches {
  size_t ahead;
  Cache to;
};

// Adds the products of `blocks` blocks of P panels and R rows to `out`. If `first`, `out` gets just
// these products.
template <typename Kind, int P, int R>
void tile(const std::byte* codes, size_t codes_stride, const typename Kind::Element* x,
          size_t x_stride, uint32_t blocks, bool first, Prefetches prefetches, float* out,
          size_t out_stride) {
  constexpr size_t kArithmeticUnits = kBlock / Kind::kStep;
  constexpr size_t kUnroll = 4;
  __m512 acc[P][R];
  load_tile(out, out_stride, first, acc);
  for (size_t unit = 0; unit < blocks * kArithmeticUnits; unit += kUnroll) {
    if (prefetches.ahead != 0) {
      const std::byte* ahead = codes + Kind::kStepBytes * unit + prefetches.ahead;
      for (size_t p = 0; p < P; ++p, ahead += codes_stride) {
        if (prefetches.to == Cache::kL1) {
          prefetch_bytes<Cache::kL1>(ahead, Kind::kStepBytes * kUnroll);
        } else {
          prefetch_bytes<Cache::kL2>(ahead, Kind::kStepBytes * kUnroll);
        }
      }
    }
    HEARTH_UNROLL
    for (size_t u = unit; u < unit + kUnroll; ++u) {
      typename Kind::Register w[P];
      HEARTH_UNROLL
      for (size_t p = 0; p < P; ++p) {
        w[p] = Kind::load(codes + codes_stride * p + Kind::kStepBytes * u);
      }
      HEARTH_UNROLL
      for (size_t r = 0; r < R; ++r) {
        typename Kind::Register xr = Kind::broadcast(x + x_stride * r + Kind::kStep * u);
        HEARTH_UNROLL
        for (size_t p = 0; p < P; ++p) acc[p][r] = Kind::add(acc[p][r], w[p], xr);
      }
    }
  }
  store_tile(out, out_stride, acc);
}

template <typename Kind, int P, int... R>
auto tile_fn(uint32_t rows, std::integer_sequence<int, R...>) {
  using TileFn = decltype(&tile<Kind, P, 1>);
  static constexpr TileFn kTiles[] = {tile<Kind, P, R + 1>...};
  return kTiles[rows - 1];
}

// Multiplies all rows by P panels in tiles of at most s.tile_rows rows.
template <typename Kind, int P>
void gemm_panels(const GemmArgs& g, const GemmSchedule& s, uint32_t panel, float* out) {
  constexpr uint32_t kMaxRows = P == kWidePanels ? kMaxWideRows : kTileRows;
  const std::byte* codes = g.w.codes + g.w.codes_panel_bytes * panel;
  // A single tile reads its weights only once, so it takes all blocks as one slice.
  const uint32_t slice = g.m <= s.tile_rows ? std::max(1u, g.block1 - g.block0) : s.slice;
  for_slices(g.block0, g.block1, slice, [&](uint32_t begin, uint32_t end) {
    for_tiles(g.m, s.tile_rows, [&](uint32_t row, uint32_t rows, uint32_t, uint32_t) {
      auto fn = tile_fn<Kind, P>(rows, std::make_integer_sequence<int, kMaxRows>());
      fn(codes + kBlockBytes<Kind> * begin, g.w.codes_panel_bytes,
         Kind::elements(g.a) + g.a.row_stride * row + size_t{kBlock} * begin, g.a.row_stride,
         end - begin, begin == g.block0, {row == 0 ? s.prefetch : size_t{0}, s.prefetch_to},
         out + row * g.out_stride, g.out_stride);
    });
  });
}

// Multiplies all rows by all panels. If panels are left over that are too few for the schedule's
// tile, narrower tiles take them: with as many rows as fit, and prefetches to L1.
template <typename Kind>
void chains(const GemmArgs& g) {
  const GemmSchedule& wanted = g.schedule;
  uint32_t p = 0;
  auto advance = [&]<int P>(std::integral_constant<int, P>) {
    if (wanted.tile_panels < P || p + P > g.panels) return;
    GemmSchedule s = wanted;
    if (wanted.tile_panels > P) {
      s.tile_rows = kTileRows;
      s.prefetch_to = Cache::kL1;
    }
    for (; p + P <= g.panels; p += P) {
      gemm_panels<Kind, P>(g, s, g.panel0 + p, g.out + kPanelRows * p);
    }
  };
  advance(std::integral_constant<int, kWidePanels>());
  advance(std::integral_constant<int, kTilePanels>());
  advance(std::integral_constant<int, 1>());
}

template <typename Kind>
void gemm(const GemmArgs& g) {
  for_segments(g, joint_panels(g.schedule, g.m), chains<Kind>);
}

}  // namespace
}  // namespace hearth
