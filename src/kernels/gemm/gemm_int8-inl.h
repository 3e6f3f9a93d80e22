// The kernels of the quantised pack kinds over Vec16 and a level's integer dot products. Before
// this file a level includes its Vec16 and defines
//   all that gemm_kinds-inl.h needs, except for Floats (Vec16) and its functions in Vec16
//   store_codes(p, codes)
//   DotsFor<Bits, Rows>            exact dot products of 16 weight rows with kRows rows of
//                                  activations, for a tile of Rows; Bits of the codes: 4, 6, 8
//                                  (unsigned), or 16 where the level has them:
//     kRows, kAtOnce               rows, and groups that are added at a time; at most 8 in all
//     kTakesOffset                 whether codes of 8 bits must lose their offset of 128
//     kBlockBytes                  the bytes of a block in a row of activations
//     prepare(codes of kAtOnce groups)   makes a form of the codes that serves all rows
//     load(rows, groups)           the activations of kAtOnce groups, for all 16 weight rows
//     add(prepared, loaded)
//     sum(row, offset)             float(dots + offset)
//   kInt8TileRows                  the most rows of a tile of one panel that fit the registers
//   kInt8Panels                    panels of the widest tile: 1, or 4 where few rows may read
//                                  several side by side
//
// Few rows: the tile unpacks in registers, since memory is the limit. Many rows: a slice of a panel
// is unpacked once to bytes and f32 scales, which the tiles of all rows read from L1. A schedule
// may have tiles of two or four panels side by side, which share the loaded activations, for
// weights that are not unpacked. Tiles of one panel read unpacked weights, whatever the schedule's.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

using Floats = Vec16;
inline Floats all_lanes(float x) { return Vec16::all(x); }
inline const float* as_floats(const std::byte* p) { return reinterpret_cast<const float*>(p); }
inline Floats load_f32(const std::byte* p) { return Vec16::load(as_floats(p)); }
inline Floats load_f16(const std::byte* p) {
  return Vec16::load_f16(reinterpret_cast<const uint16_t*>(p));
}
inline Floats load_bf16(const std::byte* p) {
  return Vec16::load_bf16(reinterpret_cast<const uint16_t*>(p));
}
inline Floats load_i8(const std::byte* p) {
  return Vec16::load_i8(reinterpret_cast<const int8_t*>(p));
}

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_kinds-inl.h"

namespace hearth {
namespace {

// The kind to which `unpack_slice` unpacks `Kind`. If it is `Kind` itself, weights are not unpacked
// but read in place.
template <typename Kind>
struct Unpacked
    : std::type_identity<KindBytes<Kind::kBits, Kind::kOffset, Kind::kHalves, Kind::kMin>> {};
template <>
struct Unpacked<KindQ8_0> : std::type_identity<KindQ8_0> {};
template <typename Kind>
using UnpackedOf = typename Unpacked<Kind>::type;
template <typename Kind>
inline constexpr bool kInPlace = std::is_same_v<Kind, UnpackedOf<Kind>>;

constexpr int int8_rows(int panels) { return static_cast<int>(kInt8TileRows) / panels; }
constexpr TileRange kAllInt8Tiles[] = {{1, 1, int8_rows(1)},
                                       {2, 1, int8_rows(2), 1, int8_rows(1)},
                                       {4, 1, int8_rows(4), 1, int8_rows(1)}};
constexpr std::span<const TileRange> kInt8Tiles(kAllInt8Tiles, kInt8Panels == 1 ? 1 : 3);

template <typename Kind>
constexpr GemmMenu kInt8Menu = {.tiles = kInt8Tiles,
                                .slice = {2, 256},
                                .unpack_rows = unpack_thresholds(!kInPlace<Kind>),
                                .prefetch = kPrefetchRange,
                                .to_l2 = false};

// Rows of activations from the first block of a tile on. Rows of codes lie codes_stride bytes
// apart, and rows of entries for blocks `stride` entries. bias and sum have an entry for each half
// of a block.
struct Int8Rows {
  const std::byte* codes;
  size_t codes_stride;
  const float* scale;
  const int32_t* bias;
  const float* sum;
  size_t stride;

  size_t block(int r, uint32_t i) const { return stride * static_cast<size_t>(r) + i; }
};

// Returns the rows from row `row` and block `block` of `a` on.
template <typename Kind>
Int8Rows rows_from(const ActView& a, uint32_t row, uint32_t block) {
  constexpr bool kHalf = Kind::kHalves == 2;
  const size_t at = a.row_stride / kBlock * row + block;
  return {.codes = reinterpret_cast<const std::byte*>(a.codes + at * kBlock),
          .codes_stride = a.row_stride,
          .scale = a.scale + at,
          .bias = kHalf ? a.bias16 + 2 * at : a.bias32 + at,
          .sum = kHalf ? a.sum16 + 2 * at : a.sum32 + at,
          .stride = a.row_stride / kBlock};
}

struct Int8Tile {
  PanelView w;  // of the first panel
  size_t codes_panel_bytes, scales_panel_bytes;
  Int8Rows a;
  uint32_t blocks;
  bool first;    // whether it is the first slice
  size_t ahead;  // bytes to the prefetched codes, which come from memory; 0: no prefetches
  float* out;
  size_t out_stride;

  PanelView panel(size_t p) const {
    PanelView view = w;
    view.codes += codes_panel_bytes * p;
    view.scales += scales_panel_bytes * p;
    return view;
  }
};

// Adds the integer sums of half h of a block of one panel to the outputs, by the float part of the
// contract.
template <typename Kind, int R, typename Dot, int Dots>
[[gnu::always_inline]] inline void int8_end(const Int8Tile& t, const PanelView& w, uint32_t i,
                                            int h, const Dot (&dot)[Dots], Vec16 (&acc)[R]) {
  constexpr int kRows = Dot::kRows;
  constexpr int kOffset = Kind::kBits == 8 && Dot::kTakesOffset ? 0 : Kind::kOffset;
  const Vec16 scale = Kind::scale(w, w.block + i, h);
  HEARTH_UNROLL
  for (int r = 0; r < R; ++r) {
    const size_t at = t.a.block(r, i);
    int32_t offset = 0;
    // bias is -128 times the sum of the activation codes, so the division is exact.
    if constexpr (kOffset != 0) {
      offset = t.a.bias[at * Kind::kHalves + h] / (128 / kOffset);
    }
    acc[r] =
        fma(dot[r / kRows].sum(r % kRows, offset), mul(scale, Vec16::all(t.a.scale[at])), acc[r]);
  }
  if constexpr (Kind::kMin) {
    const Vec16 min = Kind::min(w, w.block + i, h);
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      acc[r] = fma(min, Vec16::all(t.a.sum[t.a.block(r, i) * Kind::kHalves + h]), acc[r]);
    }
  }
}

// Adds half h of a block (or all of it, if its halves share a scale) of P panels to the outputs.
template <typename Kind, int P, int R>
[[gnu::always_inline]] inline void int8_half(const Int8Tile& t, const typename Kind::Lookup& lookup,
                                             uint32_t i, int h, Vec16 (&acc)[P][R]) {
  constexpr int kGroups = 8 / Kind::kHalves;
  using Dot = DotsFor<Kind::kBits, R>;
  constexpr int kRows = Dot::kRows, kDots = (R + kRows - 1) / kRows;
  const std::byte* codes = t.w.codes + Kind::kCodeBytes * (t.w.block + i);
  using Groups = typename Dot::Group[Dot::kAtOnce];
  using Prepared = decltype(Dot::prepare(std::declval<const Groups&>()));
  Dot dot[P][kDots];
  auto group = [&](int step) {
    return Kind::kNibbles ? step / 2 + 4 * (step % 2) : kGroups * h + step;
  };
  HEARTH_UNROLL
  for (int step = 0; step < kGroups; step += Dot::kAtOnce) {
    int groups[Dot::kAtOnce];
    HEARTH_UNROLL
    for (int n = 0; n < Dot::kAtOnce; ++n) groups[n] = group(step + n);
    Prepared w[P];
    HEARTH_UNROLL
    for (int p = 0; p < P; ++p) {
      Groups c;
      HEARTH_UNROLL
      for (int n = 0; n < Dot::kAtOnce; ++n) {
        c[n] = Kind::group(codes + t.codes_panel_bytes * static_cast<size_t>(p), groups[n], lookup);
      }
      w[p] = Dot::prepare(c);
    }
    HEARTH_UNROLL
    for (int d = 0; d < kDots; ++d) {
      const std::byte* x[kRows];
      HEARTH_UNROLL
      for (int n = 0; n < kRows; ++n) {
        // If the number of rows is odd, the last row is paired with itself.
        const int r = std::min(kRows * d + n, R - 1);
        x[n] = t.a.codes + t.a.codes_stride * static_cast<size_t>(r) + Dot::kBlockBytes * i;
      }
      const auto four = Dot::load(x, groups);
      HEARTH_UNROLL
      for (int p = 0; p < P; ++p) dot[p][d].add(w[p], four);
    }
  }
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    const PanelView panel = t.panel(static_cast<size_t>(p));
    int8_end<Kind>(t, panel, i, h, dot[p], acc[p]);
  }
}

// Prefetches the codes that lie `ahead` bytes behind those of block b, and the scales that belong
// to them; nothing if `ahead` is 0.
template <typename Kind>
inline void prefetch_block(const PanelView& w, uint32_t b, size_t ahead) {
  if (ahead == 0) return;
  const size_t to = b + ahead / Kind::kCodeBytes;
  prefetch_range(w.codes + Kind::kCodeBytes * to, Kind::kCodeBytes);
  prefetch_range(w.scales + Kind::scales_start(w) + Kind::scale_step(w) * to, Kind::kScaleBytes);
}

template <typename Kind, int P, int R>
void int8_tile(const Int8Tile& tile) {
  const Int8Tile t = tile;
  const auto lookup = Kind::lookup(t.w);
  Vec16 acc[P][R];
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      acc[p][r] = start_sum(t.out + t.out_stride * r + kPanelRows * p, t.first);
    }
  }
  for (uint32_t i = 0; i < t.blocks; ++i) {
    for (int p = 0; p < P; ++p) {
      prefetch_block<Kind>(t.panel(static_cast<size_t>(p)), t.w.block + i, t.ahead);
    }
    HEARTH_UNROLL
    for (int h = 0; h < Kind::kHalves; ++h) int8_half<Kind>(t, lookup, i, h, acc);
  }
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) store(t.out + t.out_stride * r + kPanelRows * p, acc[p][r]);
  }
}

template <typename Kind, int P, int... R>
void int8_tile_of(uint32_t rows, const Int8Tile& t, std::integer_sequence<int, R...>) {
  static constexpr void (*kTiles[])(const Int8Tile&) = {int8_tile<Kind, P, R + 1>...};
  kTiles[rows - 1](t);
}

// Multiplies m rows by `blocks` blocks of P panels, which start at w.block, in tiles of at most
// `max_rows`. rows(r) returns the rows from row r on. The first tile prefetches `ahead` bytes.
template <typename Kind, int P, typename RowsFn>
void int8_tiles(const GemmArgs& g, uint32_t max_rows, const PanelView& w, RowsFn rows,
                uint32_t blocks, bool first, size_t ahead, float* out) {
  for_even_pieces(g.m, max_rows, [&](uint32_t row, uint32_t row_end) {
    Int8Tile t = {.w = w,
                  .codes_panel_bytes = g.w.codes_panel_bytes,
                  .scales_panel_bytes = g.w.scales_panel_bytes,
                  .a = rows(row),
                  .blocks = blocks,
                  .first = first,
                  .ahead = row == 0 ? ahead : 0,
                  .out = out + g.out_stride * row,
                  .out_stride = g.out_stride};
    int8_tile_of<Kind, P>(row_end - row, t, std::make_integer_sequence<int, int8_rows(P)>());
  });
}

// Returns the view of a slice that a kernel has unpacked.
inline PanelView unpacked_view(const std::byte* codes, const std::byte* scales) {
  PanelView view = {};
  view.codes = codes;
  view.scales = scales;
  return view;
}

// Unpacks blocks [block0, block0 + blocks) of a panel to UnpackedOf<Kind> in `scratch`.
template <typename Kind>
PanelView unpack_slice(const PanelView& w, uint32_t block0, uint32_t blocks, const GemmSchedule& s,
                       std::byte* scratch) {
  using To = UnpackedOf<Kind>;
  static_assert((To::kCodeBytes + To::kScaleBytes) * kInt8Menu<Kind>.slice.most <=
                kChainScratchBytes);
  std::byte* to_codes = scratch;
  std::byte* to_scales = scratch + To::kCodeBytes * s.slice;
  const PanelView to = unpacked_view(to_codes, to_scales);
  const auto lookup = Kind::lookup(w);
  auto put = [&](Vec16 x) {
    store(reinterpret_cast<float*>(to_scales), x);
    to_scales += 64;
  };
  for (uint32_t b = block0; b < block0 + blocks; ++b, to_codes += To::kCodeBytes) {
    prefetch_block<Kind>(w, b, s.prefetch);
    const std::byte* codes = w.codes + Kind::kCodeBytes * b;
    HEARTH_UNROLL
    for (int g = 0; g < 8; ++g) store_codes(to_codes + 64 * g, Kind::group(codes, g, lookup));
    for (int h = 0; h < Kind::kHalves; ++h) put(Kind::scale(w, b, h));
    if constexpr (Kind::kMin) {
      for (int h = 0; h < Kind::kHalves; ++h) put(Kind::min(w, b, h));
    }
  }
  return to;
}

// Multiplies all rows by P panels, in tiles of at most `tile_rows` rows. Weights may be unpacked
// only if P is 1.
template <typename Kind, int P>
void int8_panels(const GemmArgs& g, uint32_t tile_rows, uint32_t panel, float* out) {
  using To = UnpackedOf<Kind>;
  const GemmSchedule& s = g.schedule;
  PanelView w = panel_of(g, panel, g.block0);
  auto from = [&](uint32_t block) {
    return [&g, block](uint32_t row) { return rows_from<Kind>(g.a, row, block); };
  };
  if (g.m <= tile_rows) {
    return int8_tiles<Kind, P>(g, tile_rows, w, from(g.block0), g.block1 - g.block0, true,
                               s.prefetch, out);
  }
  for_even_pieces(g.block1 - g.block0, s.slice, [&](uint32_t begin, uint32_t end) {
    const bool first = begin == 0;
    begin += g.block0;
    end += g.block0;
    if constexpr (P == 1 && !kInPlace<Kind>) {
      if (g.m >= s.unpack_rows) {
        PanelView unpacked = unpack_slice<Kind>(w, begin, end - begin, s, g.scratch);
        return int8_tiles<To, 1>(g, tile_rows, unpacked, from(begin), end - begin, first, 0, out);
      }
    }
    w.block = begin;
    int8_tiles<Kind, P>(g, tile_rows, w, from(begin), end - begin, first, s.prefetch, out);
  });
}

// Returns the rows of tiles of one panel: all that fit, if the schedule's tiles have several
// panels.
inline uint32_t one_panel_rows(const GemmSchedule& s) {
  return s.tile_panels == 1 ? s.tile_rows : kInt8TileRows;
}

// Multiplies all rows by all panels. Panels that will be unpacked, or that are too few for the
// schedule's tile, are taken one by one.
template <typename Kind>
void int8_chains(const GemmArgs& g) {
  const GemmSchedule& s = g.schedule;
  uint32_t p = 0;
  auto advance = [&]<int P>(std::integral_constant<int, P>, uint32_t tile_rows) {
    for (; p + P <= g.panels; p += P) {
      int8_panels<Kind, P>(g, tile_rows, g.panel0 + p, g.out + kPanelRows * p);
    }
  };
  if constexpr (kInt8Panels > 1) {
    const bool unpacks = !kInPlace<Kind> && g.m > s.tile_rows && g.m >= s.unpack_rows;
    if (s.tile_panels == 4 && !unpacks) advance(std::integral_constant<int, 4>(), s.tile_rows);
    if (s.tile_panels == 2 && !unpacks) advance(std::integral_constant<int, 2>(), s.tile_rows);
  }
  advance(std::integral_constant<int, 1>(), one_panel_rows(s));
}

template <typename Kind>
void gemm_int8(const GemmArgs& g) {
  for_segments(g, joint_panels(g.schedule, g.m), int8_chains<Kind>);
}

}  // namespace
}  // namespace hearth

// Defines the kernels of a level: HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE_INT8_GEMM, level).
#define HEARTH_DEFINE_INT8_GEMM(kind, name, level)                                    \
  constinit const GemmMenu menu_##name##_##level = kInt8Menu<KindOf<PackKind::kind>>; \
  void gemm_##name##_##level(const GemmArgs& args) { gemm_int8<KindOf<PackKind::kind>>(args); }
