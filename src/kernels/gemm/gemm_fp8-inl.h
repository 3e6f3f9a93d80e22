// The kernels of kFP8 and kFP8R over Vec16, for all ISA levels. Before this file a level includes
// its Vec16 and defines
//   Codes load_codes(const std::byte* p); void store_codes(std::byte* p, Codes c);   64 bytes
//   Fp8Decoder{}.decode(Codes c)   Fp8Pairs {first, second} of codes of 4 columns of 16 rows: bf16
//                                  [16][2] of the first two and of the other two elements, or the
//                                  form that Fp8Sums takes
//   Fp8Sums<R>                     the sums of R rows of a tile, and add_panels() of them
//                                  (LaneSums; gemm_fp8_pairs-inl.h)
//   struct Fp8Shape                how many panels and rows a tile has
//
// A tile sums the columns of one super-block for P panels x R rows. It adds the sums, times the
// rows' scales, to the outputs: the scale costs one fma in 128. So a slice of K is a super-block.
// Tiles do not depend on how scales are packed (SharedFp8Scale, OwnFp8Scales): they read 16 a
// panel. With few rows every tile decodes for itself. With more rows, tiles share codes that were
// decoded to scratch, kPanels panels at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

constexpr size_t kFp8BlockBytes = size_t{kBlock} * kPanelRows;
constexpr size_t kFp8GroupBytes = 64;     // codes of 4 columns of 16 rows
constexpr size_t kFp8DecodedBytes = 128;  // the same decoded
constexpr size_t kFp8SuperGroups = size_t{kFp8SuperBlocks} * kBlock / 4;

// Tiles of kPanels panels may have more rows if they read decoded weights (fp8_rows).
constexpr TileRange kFp8Tiles[] = {
    {1, 1, Fp8Shape::kTileRows},
    {Fp8Shape::kPanels, 1, Fp8Shape::kTileRows},
    {Fp8Shape::kWidePanels, 1, Fp8Shape::kWideRows, Fp8Shape::kPanels, Fp8Shape::kTileRows}};
constexpr GemmMenu kFp8Menu = {.tiles = kFp8Tiles,
                               .slice = {kFp8SuperBlocks, kFp8SuperBlocks},
                               .unpack_rows = unpack_thresholds(true),
                               .prefetch = kPrefetchRange,
                               .to_l2 = false};

// Returns the most rows of tiles of P panels that read codes, or decoded weights.
template <int P>
uint32_t fp8_rows(const GemmSchedule& s, bool decoded) {
  using S = Fp8Shape;
  const int most = decoded ? S::kTileRows : P > S::kPanels ? S::kWideRows : S::kFewRows;
  // A tile with another number of panels than the schedule's has all rows that fit.
  const bool asked = s.tile_panels == P;
  return static_cast<uint32_t>(asked ? std::min<int>(s.tile_rows, most) : most);
}

struct FromCodes {
  static constexpr size_t kGroupBytes = kFp8GroupBytes;
  Fp8Decoder decoder;
  Fp8Pairs load(const std::byte* p) const { return decoder.decode(load_codes(p)); }
};

struct FromDecoded {
  static constexpr size_t kGroupBytes = kFp8DecodedBytes;
  Fp8Pairs load(const std::byte* p) const { return {load_codes(p), load_codes(p + 64)}; }
};

// The columns of a tile's panels in one super-block.
struct Fp8Piece {
  const std::byte* codes;  // of the first panel
  size_t codes_stride;
  size_t groups;
  size_t ahead;         // bytes from here to the prefetched ones
  bool first;           // whether it is the first super-block
  const float* scales;  // [panel][16], by which the sums are multiplied
};

// Reads the scales of a panel for one super-block, as kFP8 packs them.
struct SharedFp8Scale {
  static constexpr size_t kBytes = sizeof(Fp8Scale);
  static Vec16 load(const std::byte* p) {
    Fp8Scale s;
    std::memcpy(&s, p, sizeof s);
    if (s.nan_rows == 0) [[likely]]
      return Vec16::all(s.scale);
    float lanes[kPanelRows];
    for (uint32_t r = 0; r < kPanelRows; ++r) {
      lanes[r] = (s.nan_rows >> r & 1) != 0 ? std::numeric_limits<float>::quiet_NaN() : s.scale;
    }
    return Vec16::load(lanes);
  }
};

// Reads the scales of a panel for one super-block, as kFP8R packs them.
struct OwnFp8Scales {
  static constexpr size_t kBytes = sizeof(float) * kPanelRows;
  static Vec16 load(const std::byte* p) { return Vec16::load(reinterpret_cast<const float*>(p)); }
};

struct Fp8Rows {
  const bf16_t* x;  // the first row at the piece's first column
  size_t x_stride;
  float* out;  // of the first panel
  size_t out_stride;
};

// `weights` points to the first panel's weights, as Source reads them.
template <typename Source, bool Prefetch, int P, int R>
void fp8_tile(const Fp8Piece& piece, const std::byte* weights, size_t weights_stride,
              const Fp8Rows& rows) {
  constexpr size_t kUnroll = 2;
  const Source source;
  Fp8Sums<R> dot[P];
  HEARTH_UNROLL
  for (size_t p = 0; p < P; ++p) dot[p] = Fp8Sums<R>::start(rows.out, rows.out_stride, true);
  for (size_t begin = 0; begin < piece.groups; begin += kUnroll) {
    HEARTH_UNROLL
    for (size_t i = 0; i < kUnroll; ++i) {
      const size_t g = begin + i;
      Fp8Pairs w[P];
      HEARTH_UNROLL
      for (size_t p = 0; p < P; ++p) {
        w[p] = source.load(weights + weights_stride * p + Source::kGroupBytes * g);
        if constexpr (Prefetch) {
          prefetch(piece.codes + piece.codes_stride * p + kFp8GroupBytes * g + piece.ahead);
        }
      }
      add_panels(dot, w, rows.x + 4 * g, rows.x_stride);
    }
  }
  HEARTH_UNROLL
  for (size_t p = 0; p < P; ++p) {
    const Vec16 scales = Vec16::load(piece.scales + kPanelRows * p);
    HEARTH_UNROLL
    for (size_t r = 0; r < R; ++r) {
      float* out = rows.out + rows.out_stride * r + kPanelRows * p;
      store(out, fma(dot[p].row(r), scales, start_sum(out, piece.first)));
    }
  }
}

template <typename Source, bool Prefetch, int P, int... R>
void fp8_tile_of(uint32_t count, const Fp8Piece& piece, const std::byte* weights,
                 size_t weights_stride, const Fp8Rows& rows, std::integer_sequence<int, R...>) {
  using TileFn = decltype(&fp8_tile<Source, Prefetch, P, 1>);
  static constexpr TileFn kTiles[] = {fp8_tile<Source, Prefetch, P, R + 1>...};
  kTiles[count - 1](piece, weights, weights_stride, rows);
}

template <int P>
void fp8_decode(const Fp8Piece& piece, std::byte* decoded) {
  const FromCodes source;
  for (size_t p = 0; p < P; ++p) {
    for (size_t g = 0; g < piece.groups; ++g) {
      const std::byte* codes = piece.codes + piece.codes_stride * p + kFp8GroupBytes * g;
      std::byte* to = decoded + kFp8DecodedBytes * (kFp8SuperGroups * p + g);
      const Fp8Pairs w = source.load(codes);
      prefetch(codes + piece.ahead);
      store_codes(to, w.first);
      store_codes(to + 64, w.second);
    }
  }
}

// Returns the piece of blocks [begin, end) of P panels, all in one super-block, and writes its
// scales. In each panel the prefetches are `far` blocks ahead. Behind the last block of a panel
// that the caller reads, they go on in the next P panels.
template <typename Scales, int P>
Fp8Piece fp8_piece(const ChainArgs& g, uint32_t panel, uint32_t begin, uint32_t end, uint32_t far,
                   float* scales) {
  const bool stays = begin + far < g.stream1;
  const uint32_t to =
      stays ? begin + far : std::min(g.stream0 + begin + far - g.stream1, g.stream1 - 1);
  auto super = [&](uint32_t block) { return (block + g.w.super_offset) / kFp8SuperBlocks; };
  const size_t panels = stays ? 0 : P;
  for (size_t p = 0; p < P; ++p) {
    const std::byte* of_panel = g.w.scales + g.w.scales_panel_bytes * (panel + p);
    store(scales + kPanelRows * p, Scales::load(of_panel + Scales::kBytes * super(begin)));
    prefetch(of_panel + g.w.scales_panel_bytes * panels + Scales::kBytes * super(to));
  }
  return {.codes = g.w.codes + g.w.codes_panel_bytes * panel + kFp8BlockBytes * begin,
          .codes_stride = g.w.codes_panel_bytes,
          .groups = size_t{end - begin} * (kBlock / 4),
          .ahead = panels * g.w.codes_panel_bytes + kFp8BlockBytes * to - kFp8BlockBytes * begin,
          .first = begin == g.block0,
          .scales = scales};
}

// Returns the number of the block behind the super-block that `block` lies in.
inline uint32_t fp8_super_end(const WeightView& w, uint32_t block) {
  return block + kFp8SuperBlocks - (block + w.super_offset) % kFp8SuperBlocks;
}

// Multiplies all rows by P panels in tiles. If MostRows is 0, the tiles read weights that were
// decoded before; otherwise tiles of at most MostRows rows read codes.
template <typename Scales, int P, int MostRows>
void fp8_panels(const ChainArgs& g, const GemmSchedule& s, uint32_t panel, float* out) {
  const uint32_t max_rows = fp8_rows<P>(s, MostRows == 0);
  for (uint32_t begin = g.block0; begin < g.block1;) {
    const uint32_t end = std::min(g.block1, fp8_super_end(g.w, begin));
    const auto far = static_cast<uint32_t>(s.prefetch / kFp8BlockBytes);
    alignas(64) float scales[P * kPanelRows];
    const Fp8Piece piece = fp8_piece<Scales, P>(g, panel, begin, end, far, scales);
    if constexpr (MostRows == 0) fp8_decode<P>(piece, g.scratch);
    for_even_pieces(g.m, max_rows, [&](uint32_t row, uint32_t row_end) {
      const Fp8Rows rows = {.x = g.a.bf16 + g.a.row_stride * row + size_t{kBlock} * begin,
                            .x_stride = g.a.row_stride,
                            .out = out + g.out_stride * row,
                            .out_stride = g.out_stride};
      if constexpr (MostRows != 0) {
        fp8_tile_of<FromCodes, true, P>(row_end - row, piece, piece.codes, piece.codes_stride, rows,
                                        std::make_integer_sequence<int, MostRows>());
      } else {
        static_assert(P * kFp8DecodedBytes * kFp8SuperGroups <= kChainScratchBytes);
        fp8_tile_of<FromDecoded, false, P>(row_end - row, piece, g.scratch,
                                           kFp8DecodedBytes * kFp8SuperGroups, rows,
                                           std::make_integer_sequence<int, Fp8Shape::kTileRows>());
      }
    });
    begin = end;
  }
}

// Writes zeros to the outputs, for a product over no blocks.
inline void fp8_zeros(const ChainArgs& g) {
  for (size_t r = 0; r < g.m; ++r) {
    std::fill_n(g.out + g.out_stride * r, size_t{kPanelRows} * g.panels, 0.0f);
  }
}

// Calls fp8_panels<Scales, P, MostRows> as long as P panels are left from *panel on.
template <typename Scales, int P, int MostRows>
void fp8_groups(const ChainArgs& g, const GemmSchedule& s, uint32_t* panel) {
  for (; *panel + P <= g.panels; *panel += P) {
    fp8_panels<Scales, P, MostRows>(g, s, g.panel0 + *panel, g.out + kPanelRows * *panel);
  }
}

template <typename Scales>
void fp8_few_rows(const ChainArgs& g, const GemmSchedule& s) {
  using S = Fp8Shape;
  if (g.block0 == g.block1) return fp8_zeros(g);
  uint32_t panel = 0;
  if constexpr (S::kWidePanels > S::kPanels) {
    if (s.tile_panels == S::kWidePanels) {
      fp8_groups<Scales, S::kWidePanels, S::kWideRows>(g, s, &panel);
    }
  }
  if (s.tile_panels >= S::kPanels) fp8_groups<Scales, S::kPanels, S::kFewRows>(g, s, &panel);
  fp8_groups<Scales, 1, S::kFewRows>(g, s, &panel);
}

template <typename Scales, int Panels>
void fp8_many_rows(const ChainArgs& g, const GemmSchedule& s) {
  if (g.block0 == g.block1) return fp8_zeros(g);
  uint32_t panel = 0;
  if (s.tile_panels >= Panels) fp8_groups<Scales, Panels, 0>(g, s, &panel);
  fp8_groups<Scales, 1, 0>(g, s, &panel);
}

// Multiplies with weights whose scales are packed as Scales says. If a product has at least the
// schedule's unpack_rows rows, `many_rows` computes it.
template <typename Scales, typename ManyRows>
void gemm_fp8_with(const GemmArgs& g, ManyRows many_rows) {
  const GemmSchedule& s = g.schedule;
  const bool many = g.m >= s.unpack_rows;
  for_segments(g, many ? kBranchPanels : joint_panels(s, g.m), [&](const ChainArgs& chain) {
    if (chain.m >= s.unpack_rows) {
      many_rows(chain, s);
    } else {
      fp8_few_rows<Scales>(chain, s);
    }
  });
}

template <typename Scales>
void gemm_fp8(const GemmArgs& g) {
  gemm_fp8_with<Scales>(g, fp8_many_rows<Scales, Fp8Shape::kPanels>);
}

}  // namespace
}  // namespace hearth
