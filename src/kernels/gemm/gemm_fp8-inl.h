// The kernel of kFP8 over Vec16, for all ISA levels. Before this file a level includes its Vec16
// and defines
//   Codes load_codes(const std::byte* p); void store_codes(std::byte* p, Codes c);   64 bytes
//   Fp8Decoder{}.decode(Codes c)   Fp8Pairs {first, second} of codes of 4 columns of 16 rows: bf16
//                                  [16][2] of the first two and of the other two elements, or what
//                                  Fp8Sums takes
//   Fp8Sums<R>                     the sums of R rows of a tile (LaneSums; gemm_fp8_pairs-inl.h),
//   and
//                                  add_panels() of them
//   struct Fp8Shape                how many panels and rows a tile has
//
// A tile adds up the columns of one super-block for P panels x R rows and adds the sums, times the
// panels' scales, to the outputs: the scale costs one fma in 128. Up to kFewRows rows every tile
// decodes for itself; more rows share what is decoded into the scratch.
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

struct FromCodes {
  static constexpr size_t kGroupBytes = kFp8GroupBytes;
  Fp8Decoder decoder;
  Fp8Pairs load(const std::byte* p) const { return decoder.decode(load_codes(p)); }
};

struct FromDecoded {
  static constexpr size_t kGroupBytes = kFp8DecodedBytes;
  Fp8Pairs load(const std::byte* p) const { return {load_codes(p), load_codes(p + 64)}; }
};

// The columns of a tile's panels that lie in one super-block.
struct Fp8Piece {
  const std::byte* codes;   // of the first panel
  const std::byte* scales;  // the super-block's Fp8Scale of the first panel
  size_t codes_stride, scales_stride;
  size_t groups;
  size_t ahead, scales_ahead;  // bytes from here to the prefetched ones
  bool first;                  // of the super-blocks
};

// Returns the scales by which the sums of a panel over one super-block are multiplied.
inline Vec16 fp8_scales(const std::byte* p) {
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
    const Vec16 scales = fp8_scales(piece.scales + piece.scales_stride * p);
    if constexpr (Prefetch) prefetch(piece.scales + piece.scales_stride * p + piece.scales_ahead);
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
    prefetch(piece.scales + piece.scales_stride * p + piece.scales_ahead);
  }
}

// Returns the piece of blocks [begin, end) of P panels, all in one super-block. Prefetches go
// kPrefetchBytes further on in each panel or, behind the last block that the caller reads of it,
// into the next P panels.
template <int P>
Fp8Piece fp8_piece(const ChainArgs& g, uint32_t panel, uint32_t begin, uint32_t end) {
  constexpr uint32_t kFar = kPrefetchBytes / kFp8BlockBytes;
  const bool stays = begin + kFar < g.stream1;
  const uint32_t to =
      stays ? begin + kFar : std::min(g.stream0 + begin + kFar - g.stream1, g.stream1 - 1);
  auto super = [&](uint32_t block) { return (block + g.w.super_offset) / kFp8SuperBlocks; };
  const size_t panels = stays ? 0 : P;
  return {.codes = g.w.codes + g.w.codes_panel_bytes * panel + kFp8BlockBytes * begin,
          .scales = g.w.scales + g.w.scales_panel_bytes * panel + sizeof(Fp8Scale) * super(begin),
          .codes_stride = g.w.codes_panel_bytes,
          .scales_stride = g.w.scales_panel_bytes,
          .groups = size_t{end - begin} * (kBlock / 4),
          .ahead = panels * g.w.codes_panel_bytes + kFp8BlockBytes * to - kFp8BlockBytes * begin,
          .scales_ahead = panels * g.w.scales_panel_bytes + sizeof(Fp8Scale) * super(to) -
                          sizeof(Fp8Scale) * super(begin),
          .first = begin == g.block0};
}

// Returns the first block behind `block` that lies in another super-block.
inline uint32_t fp8_super_end(const WeightView& w, uint32_t block) {
  return block + kFp8SuperBlocks - (block + w.super_offset) % kFp8SuperBlocks;
}

// Multiplies all rows by P panels; there are at most FewRows rows where FewRows is not 0.
template <int P, int FewRows>
void fp8_panels(const ChainArgs& g, uint32_t panel, float* out) {
  for (uint32_t begin = g.block0; begin < g.block1;) {
    const uint32_t end = std::min(g.block1, fp8_super_end(g.w, begin));
    const Fp8Piece piece = fp8_piece<P>(g, panel, begin, end);
    Fp8Rows rows = {.x = g.a.bf16 + size_t{kBlock} * begin,
                    .x_stride = g.a.row_stride,
                    .out = out,
                    .out_stride = g.out_stride};
    if constexpr (FewRows != 0) {
      fp8_tile_of<FromCodes, true, P>(g.m, piece, piece.codes, piece.codes_stride, rows,
                                      std::make_integer_sequence<int, FewRows>());
    } else {
      constexpr int kRows = Fp8Shape::kTileRows;
      static_assert(P * kFp8DecodedBytes * kFp8SuperGroups <= kChainScratchBytes);
      fp8_decode<P>(piece, g.scratch);
      for_even_pieces(g.m, kRows, [&](uint32_t row, uint32_t row_end) {
        Fp8Rows some = rows;
        some.x += g.a.row_stride * row;
        some.out += g.out_stride * row;
        fp8_tile_of<FromDecoded, false, P>(row_end - row, piece, g.scratch,
                                           kFp8DecodedBytes * kFp8SuperGroups, some,
                                           std::make_integer_sequence<int, kRows>());
      });
    }
    begin = end;
  }
}

// The sums of no blocks at all.
inline void fp8_zeros(const ChainArgs& g) {
  for (size_t r = 0; r < g.m; ++r) {
    std::fill_n(g.out + g.out_stride * r, size_t{kPanelRows} * g.panels, 0.0f);
  }
}

// Calls fp8_panels<P, FewRows> as long as P panels are left from *panel on.
template <int P, int FewRows>
void fp8_groups(const ChainArgs& g, uint32_t* panel) {
  for (; *panel + P <= g.panels; *panel += P) {
    fp8_panels<P, FewRows>(g, g.panel0 + *panel, g.out + kPanelRows * *panel);
  }
}

template <int WidePanels>
void fp8_few_rows(const ChainArgs& g) {
  using S = Fp8Shape;
  if (g.block0 == g.block1) return fp8_zeros(g);
  uint32_t panel = 0;
  if (g.m <= S::kWideRows) fp8_groups<WidePanels, S::kWideRows>(g, &panel);
  fp8_groups<S::kPanels, S::kFewRows>(g, &panel);
  fp8_groups<1, S::kFewRows>(g, &panel);
}

template <int Panels>
void fp8_many_rows(const ChainArgs& g) {
  if (g.block0 == g.block1) return fp8_zeros(g);
  uint32_t panel = 0;
  fp8_groups<Panels, 0>(g, &panel);
  fp8_groups<1, 0>(g, &panel);
}

// WidePanels panels are read side by side with up to kWideRows rows. `many_rows` is called where
// there are more than kFewRows.
template <int WidePanels = Fp8Shape::kWidePanels, typename ManyRows>
void gemm_fp8_with(const GemmArgs& g, ManyRows many_rows) {
  using S = Fp8Shape;
  if (g.m > S::kFewRows) return for_segments(g, kBranchPanels, many_rows);
  const int panels = g.m <= S::kWideRows ? WidePanels : S::kPanels;
  for_segments(g, static_cast<uint32_t>(panels), fp8_few_rows<WidePanels>);
}

template <int WidePanels = Fp8Shape::kWidePanels>
void gemm_fp8(const GemmArgs& g) {
  gemm_fp8_with<WidePanels>(g, fp8_many_rows<Fp8Shape::kPanels>);
}

}  // namespace
}  // namespace hearth
