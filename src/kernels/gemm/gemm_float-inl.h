// The kernels of the plain pack kinds over Vec16. ISA files include it after their Vec16.
//
// Every output is one chain of fma in ascending k. So few rows take several panels at a time to
// hide the latency of fma. Many rows take one panel and six rows (AVX2: 12 + 3 of 16 registers).
#pragma once

#include <array>

#include "base/fp_types.h"
#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

// The most bytes that the codes of one panel may have in a slice of K.
constexpr size_t kFloatSliceBytes = size_t{64} << 10;

// A kind defines how many elements of K a step takes, and how they are loaded: for 16 weight rows,
// or from one row of activations into all lanes. It defines the sums of a tile of R rows (like
// LaneSums), and the most rows for which four or two panels are read side by side.
struct FloatF32 {
  static constexpr int kTileRows = 6, kTwoPanelRows = 3, kFourPanelRows = 1;
  static constexpr size_t kStep = 1;
  static constexpr size_t kStepBytes = 64;
  using Element = float;
  using Step = Vec16;
  template <int R>
  using Sums = LaneSums<FloatF32, R>;

  static Step load(const std::byte* codes) {
    return Vec16::load(reinterpret_cast<const float*>(codes));
  }
  static Step all(const float* x) { return Vec16::all(*x); }
  static Vec16 add(Step w, Step x, Vec16 acc) { return fma(w, x, acc); }
  static const float* elements(const ActView& a) { return a.f32; }
};

struct FloatF16 : FloatF32 {
  static constexpr size_t kStepBytes = 32;
  static Step load(const std::byte* codes) {
    return Vec16::load_f16(reinterpret_cast<const uint16_t*>(codes));
  }
};

template <typename Kind>
constexpr size_t kFloatBlockBytes = Kind::kStepBytes*(kBlock / Kind::kStep);

// Returns how many rows fit the registers in a tile of `panels` panels.
template <typename Kind>
constexpr int float_rows(int panels) {
  return panels == 4 ? Kind::kFourPanelRows : panels == 2 ? Kind::kTwoPanelRows : Kind::kTileRows;
}

// Unpacked weights are multiplied a panel at a time, with all rows that fit.
template <typename Kind>
constexpr auto kFloatTiles = [] {
  std::array<TileRange, 1 + (Kind::kTwoPanelRows > 0) + (Kind::kFourPanelRows > 0)> tiles{};
  size_t n = 0;
  auto add = [&](uint8_t panels, uint8_t rows) {
    tiles[n++] = {panels, 1, rows, 1, Kind::kTileRows};
  };
  add(1, Kind::kTileRows);
  if (Kind::kTwoPanelRows > 0) add(2, Kind::kTwoPanelRows);
  if (Kind::kFourPanelRows > 0) add(4, Kind::kFourPanelRows);
  return tiles;
}();
template <typename Kind, bool Unpacks = false>
constexpr GemmMenu kFloatMenu = {.tiles = kFloatTiles<Kind>,
                                 .slice = {1, kFloatSliceBytes / kFloatBlockBytes<Kind>},
                                 .unpack_rows = unpack_thresholds(Unpacks),
                                 .prefetch = kPrefetchRange,
                                 .to_l2 = false};

template <typename Kind>
struct FloatTile {
  const std::byte* codes;  // of the first panel, at the first block of the slice
  size_t codes_stride;
  const typename Kind::Element* x;  // of the first row, at the same block
  size_t x_stride;
  uint32_t blocks;
  bool first;    // whether it is the first slice
  size_t ahead;  // bytes to the prefetched codes, which come from memory; 0: no prefetches
  float* out;
  size_t out_stride;
};

template <typename Kind, int P, int R>
void float_tile(const FloatTile<Kind>& t) {
  constexpr size_t kUnroll = 4;
  using Sums = typename Kind::template Sums<R>;
  Sums acc[P];
  HEARTH_UNROLL
  for (size_t p = 0; p < P; ++p) {
    acc[p] = Sums::start(t.out + kPanelRows * p, t.out_stride, t.first);
  }
  const size_t steps = t.blocks * (kBlock / Kind::kStep);
  for (size_t begin = 0; begin < steps; begin += kUnroll) {
    if (t.ahead != 0) {
      for (size_t p = 0; p < P; ++p) {
        prefetch_range(t.codes + t.codes_stride * p + Kind::kStepBytes * begin + t.ahead,
                       Kind::kStepBytes * kUnroll);
      }
    }
    HEARTH_UNROLL
    for (size_t step = begin; step < begin + kUnroll; ++step) {
      HEARTH_UNROLL
      for (size_t p = 0; p < P; ++p) {
        acc[p].add(Kind::load(t.codes + t.codes_stride * p + Kind::kStepBytes * step),
                   t.x + Kind::kStep * step, t.x_stride);
      }
    }
  }
  HEARTH_UNROLL
  for (size_t p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (size_t r = 0; r < R; ++r) store(t.out + t.out_stride * r + kPanelRows * p, acc[p].row(r));
  }
}

template <typename Kind, int P, int... R>
void float_tile_of(uint32_t rows, const FloatTile<Kind>& t, std::integer_sequence<int, R...>) {
  static constexpr void (*kTiles[])(const FloatTile<Kind>&) = {float_tile<Kind, P, R + 1>...};
  kTiles[rows - 1](t);
}

// Multiplies all rows by P panels, in tiles of at most s.tile_rows rows.
template <typename Kind, int P>
void float_panels(const GemmArgs& g, const GemmSchedule& s, uint32_t panel, float* out) {
  const uint32_t blocks = g.block1 - g.block0;
  const uint32_t slice = g.m <= s.tile_rows ? std::max(blocks, 1u) : s.slice;
  for_even_pieces(blocks, slice, [&](uint32_t begin, uint32_t end) {
    for_even_pieces(g.m, s.tile_rows, [&](uint32_t row, uint32_t row_end) {
      FloatTile<Kind> t = {
          .codes = g.w.codes + g.w.codes_panel_bytes * panel +
                   kFloatBlockBytes<Kind> * (g.block0 + begin),
          .codes_stride = g.w.codes_panel_bytes,
          .x = Kind::elements(g.a) + g.a.row_stride * row + size_t{kBlock} * (g.block0 + begin),
          .x_stride = g.a.row_stride,
          .blocks = end - begin,
          .first = begin == 0,
          .ahead = row == 0 ? s.prefetch : size_t{0},
          .out = out + g.out_stride * row,
          .out_stride = g.out_stride};
      float_tile_of<Kind, P>(row_end - row, t,
                             std::make_integer_sequence<int, float_rows<Kind>(P)>());
    });
  });
}

// Multiplies all rows by all panels. Panels that are too few for the schedule's tile are taken one
// by one, with as many rows as fit.
template <typename Kind>
void float_chains(const GemmArgs& g, const GemmSchedule& wanted) {
  uint32_t p = 0;
  auto advance = [&]<int P>(std::integral_constant<int, P>) {
    GemmSchedule s = wanted;
    if (s.tile_panels != P) s.tile_rows = float_rows<Kind>(P);
    for (; p + P <= g.panels; p += P) {
      float_panels<Kind, P>(g, s, g.panel0 + p, g.out + kPanelRows * p);
    }
  };
  if constexpr (Kind::kFourPanelRows > 0) {
    if (wanted.tile_panels == 4) advance(std::integral_constant<int, 4>());
  }
  if constexpr (Kind::kTwoPanelRows > 0) {
    if (wanted.tile_panels == 2) advance(std::integral_constant<int, 2>());
  }
  advance(std::integral_constant<int, 1>());
}

template <typename Kind>
void gemm_float(const GemmArgs& g) {
  for_segments(g, joint_panels(g.schedule, g.m),
               [](const GemmArgs& chain) { float_chains<Kind>(chain, chain.schedule); });
}

}  // namespace
}  // namespace hearth
