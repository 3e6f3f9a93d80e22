// AMX kernel of BF16 weights (Intel SDM volume 2, TDPBF16PS): Sapphire Rapids on.
//
// A block of a panel as packed, 16 pairs x 16 rows, is a tile in the layout of tdpbf16ps's second
// operand. 16 rows of activations x 32 elements are the first operand, and the 16 x 16 outputs a
// third tile.
//
// With many rows a product takes two tiles of rows by two panels: four products of tiles for four
// loads. A slice of K of the two panels stays in the caches while 128 rows go by. If there are
// several slices, the outputs wait in scratch between them, since rows of `out` that lie a power of
// two apart push each other out of L1. With at most one tile of rows a product takes four panels at
// a time over all of K: memory is the limit then, and one stream of tiles reaches only two thirds
// of that limit. One or two rows take vectors instead of tiles, since vectors read a quarter faster
// (86 % of a read loop's rate; tiles 69 %).
//
// The results are the same for every M: a product adds up 16 even and 16 odd elements of K, in one
// chain each, and adds the sum of both chains to the output.
#include "kernels/gemm/gemm_avx512-inl.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/simd/tiles_amx-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kTileRows = 16;
constexpr size_t kTileBytes = 1024;  // a block of a panel, or 16 x 16 outputs
constexpr uint32_t kRowBlock = 128;
constexpr uint32_t kPanelsAtOnce = 16;
// The distance from the loads of codes to the prefetches, whatever distance the schedule has.
constexpr size_t kPrefetchBytes = 8192;
// The tiles of the three kernels: vectors, one tile of rows, two tiles of rows.
constexpr uint32_t kVectorRows = 2;
constexpr TileRange kMenuTiles[] = {{kGemmStreams, 1, kVectorRows},
                                    {kGemmStreams, kTileRows, kTileRows},
                                    {2, 2 * kTileRows, 2 * kTileRows}};
// The bytes of the outputs of a panel for a row block, tile after tile.
constexpr size_t kPanelOutputs = kTileBytes * kRowBlock / kTileRows;
static_assert(kPanelOutputs * kPanelsAtOnce <= kChainScratchBytes);

// The outputs of a call: the place of the first one, and the distances in bytes between rows,
// between tiles of rows and between panels.
struct Outputs {
  std::byte* first;
  size_t row, tile, panel;
};

// The tiles of a call: one or two tiles of rows by one or two panels over a slice; all strides are
// in bytes.
struct Tiles {
  const std::byte* a;  // the first row
  size_t a_stride;
  const std::byte* w;  // the first panel
  size_t w_stride;     // from panel to panel
  Outputs out;
  uint32_t blocks;
  bool first;     // whether it is the first slice
  bool prefetch;  // whether to prefetch weights, which come from memory
};

// Returns the shapes of tiles. The outputs of row tile m and panel p are tile 2 m + p, activations
// tile 4 + m, weights tile 6 + p.
amx::Shape shape_of(uint32_t row_tiles, uint32_t last_rows) {
  amx::Shape shape;
  for (uint32_t m = 0; m < row_tiles; ++m) {
    uint32_t rows = m + 1 == row_tiles ? last_rows : kTileRows;
    for (uint32_t tile : {2 * m, 2 * m + 1, 4 + m}) shape.set(tile, rows, 64);
  }
  for (uint32_t tile : {6u, 7u}) shape.set(tile, kTileRows, 64);
  return shape;
}

template <int Tile>
[[gnu::always_inline]] inline void start(const std::byte* out, size_t stride, bool first) {
  if (first) {
    amx::zero<Tile>();
  } else {
    amx::load<Tile>(out, stride);
  }
}

template <int RowTiles, int Panels>
void multiply(const Tiles& tiles) {
  const Tiles t = tiles;
  const std::byte* a0 = t.a;
  const std::byte* a1 = t.a + t.a_stride * kTileRows;
  const std::byte* w0 = t.w;
  const std::byte* w1 = t.w + t.w_stride;
  std::byte* out0 = t.out.first;
  std::byte* out1 = out0 + t.out.panel;
  start<0>(out0, t.out.row, t.first);
  if (Panels == 2) start<1>(out1, t.out.row, t.first);
  if (RowTiles == 2) start<2>(out0 + t.out.tile, t.out.row, t.first);
  if (RowTiles == 2 && Panels == 2) start<3>(out1 + t.out.tile, t.out.row, t.first);
  for (uint32_t i = 0; i < t.blocks; ++i) {
    if (t.prefetch) {
      prefetch_bytes(w0 + kPrefetchBytes / 2, kTileBytes);
      if (Panels == 2) prefetch_bytes(w1 + kPrefetchBytes / 2, kTileBytes);
    }
    amx::load<4>(a0, t.a_stride);
    amx::load<6>(w0, 64);
    amx::dot_bf16<0, 4, 6>();
    if (Panels == 2) {
      amx::load<7>(w1, 64);
      amx::dot_bf16<1, 4, 7>();
    }
    if (RowTiles == 2) {
      amx::load<5>(a1, t.a_stride);
      amx::dot_bf16<2, 5, 6>();
      if (Panels == 2) amx::dot_bf16<3, 5, 7>();
    }
    a0 += kBlock * sizeof(bf16_t);
    a1 += kBlock * sizeof(bf16_t);
    w0 += kTileBytes;
    w1 += kTileBytes;
  }
  amx::store<0>(out0, t.out.row);
  if (Panels == 2) amx::store<1>(out1, t.out.row);
  if (RowTiles == 2) amx::store<2>(out0 + t.out.tile, t.out.row);
  if (RowTiles == 2 && Panels == 2) amx::store<3>(out1 + t.out.tile, t.out.row);
}

// Multiplies `rows` rows by Panels panels over a slice; `t` has the places of the first tiles.
// Before and after the call the tile registers are configured for two whole tiles of rows.
template <int Panels>
void pass_rows(Tiles t, uint32_t rows) {
  for (; rows >= 2 * kTileRows; rows -= 2 * kTileRows) {
    multiply<2, Panels>(t);
    t.a += t.a_stride * 2 * kTileRows;
    t.out.first += 2 * t.out.tile;
    t.prefetch = false;
  }
  if (rows == 0) return;
  if (rows > kTileRows) {
    amx::configure(shape_of(2, rows - kTileRows));
    multiply<2, Panels>(t);
  } else {
    amx::configure(shape_of(1, rows));
    multiply<1, Panels>(t);
  }
  amx::configure(shape_of(2, kTileRows));
}

const std::byte* bytes_at(const GemmArgs& g, uint32_t row, uint32_t block) {
  return reinterpret_cast<const std::byte*>(g.a.bf16 + g.a.row_stride * row +
                                            size_t{kBlock} * block);
}

const std::byte* weights_at(const GemmArgs& g, uint32_t panel, uint32_t block) {
  return g.w.codes + g.w.codes_panel_bytes * (g.panel0 + panel) + kTileBytes * block;
}

// Multiplies at most kRowBlock rows from `row` on by kPanelsAtOnce panels from `panel` on.
void multiply_part(const GemmArgs& g, uint32_t row, uint32_t rows, uint32_t panel,
                   uint32_t panels) {
  float* out = g.out + g.out_stride * row + size_t{kPanelRows} * panel;
  const size_t out_row = g.out_stride * sizeof(float);
  const uint32_t slice = g.schedule.slice;
  const bool in_place = g.block1 - g.block0 <= slice;
  const Outputs outputs =
      in_place ? Outputs{reinterpret_cast<std::byte*>(out), out_row, out_row * kTileRows, 64}
               : Outputs{g.scratch, 64, kTileBytes, kPanelOutputs};
  for_slices(g.block0, g.block1, slice, [&](uint32_t begin, uint32_t end) {
    for (uint32_t p = 0; p < panels; p += 2) {
      Tiles t = {.a = bytes_at(g, row, begin),
                 .a_stride = g.a.row_stride * sizeof(bf16_t),
                 .w = weights_at(g, panel + p, begin),
                 .w_stride = g.w.codes_panel_bytes,
                 .out = outputs,
                 .blocks = end - begin,
                 .first = begin == g.block0,
                 .prefetch = true};
      t.out.first += outputs.panel * p;
      if (p + 2 <= panels) {
        pass_rows<2>(t, rows);
      } else {
        pass_rows<1>(t, rows);
      }
    }
  });
  if (in_place) return;
  for (uint32_t r = 0; r < rows; ++r, out += g.out_stride) {
    for (uint32_t p = 0; p < panels; ++p) {
      _mm512_storeu_ps(out + kPanelRows * p,
                       load_f32(g.scratch + kPanelOutputs * p + size_t{64} * r));
    }
  }
}

void many_rows(const GemmArgs& g) {
  amx::configure(shape_of(2, kTileRows));
  for (uint32_t row = 0; row < g.m; row += kRowBlock) {
    for (uint32_t p = 0; p < g.panels; p += kPanelsAtOnce) {
      multiply_part(g, row, std::min(kRowBlock, g.m - row), p,
                    std::min(kPanelsAtOnce, g.panels - p));
    }
  }
}

// Multiplies one tile of rows by four panels, or by one. Outputs are tiles 0 to 3, activations tile
// 4, and weights take tiles 5 to 7 in turn.
template <bool Four>
void stream(const GemmArgs& g, uint32_t panel) {
  constexpr size_t kAhead = Four ? kPrefetchBytes / 4 : kPrefetchBytes;
  const std::byte* a = bytes_at(g, 0, g.block0);
  const std::byte* w = weights_at(g, panel, g.block0);
  const size_t a_stride = g.a.row_stride * sizeof(bf16_t), w_stride = g.w.codes_panel_bytes;
  const uint32_t blocks = g.block1 - g.block0;
  amx::zero<0>();
  amx::zero<1>();
  amx::zero<2>();
  amx::zero<3>();
  for (uint32_t i = 0; i < blocks; ++i) {
    for (size_t p = 0; p < (Four ? 4 : 1); ++p) {
      prefetch_bytes(w + w_stride * p + kAhead, kTileBytes);
    }
    amx::load<4>(a, a_stride);
    amx::load<5>(w, 64);
    amx::dot_bf16<0, 4, 5>();
    if (Four) {
      amx::load<6>(w + w_stride, 64);
      amx::dot_bf16<1, 4, 6>();
      amx::load<7>(w + w_stride * 2, 64);
      amx::dot_bf16<2, 4, 7>();
      amx::load<5>(w + w_stride * 3, 64);
      amx::dot_bf16<3, 4, 5>();
    }
    a += kBlock * sizeof(bf16_t);
    w += kTileBytes;
  }
  float* out = g.out + size_t{kPanelRows} * panel;
  const size_t out_stride = g.out_stride * sizeof(float);
  amx::store<0>(out, out_stride);
  if (Four) {
    amx::store<1>(out + kPanelRows, out_stride);
    amx::store<2>(out + 2 * kPanelRows, out_stride);
    amx::store<3>(out + 3 * kPanelRows, out_stride);
  }
}

void few_rows(const GemmArgs& g) {
  amx::Shape shape;
  for (uint32_t tile = 0; tile < 8; ++tile) shape.set(tile, tile < 5 ? g.m : kTileRows, 64);
  amx::configure(shape);
  uint32_t p = 0;
  for (; p + 4 <= g.panels; p += 4) stream<true>(g, p);
  for (; p < g.panels; ++p) stream<false>(g, p);
}

// Makes subnormal inputs count as zero and subnormal results become zero while the object lives, as
// tdpbf16ps does.
class NoSubnormals {
 public:
  NoSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero); }
  ~NoSubnormals() { _mm_setcsr(before_); }
  NoSubnormals(const NoSubnormals&) = delete;
  NoSubnormals& operator=(const NoSubnormals&) = delete;

 private:
  static constexpr uint32_t kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
  uint32_t before_;
};

inline __m512 even_of(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
inline __m512 odd_of(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(INT32_C(-65536))));
}

// Adds one block to the outputs of P panels and R rows, in the order in which tdpbf16ps adds.
// `ahead` points to the codes to prefetch, which lie w_stride apart for the next panel.
template <int P, int R>
[[gnu::always_inline]] inline void add_block(const std::byte* a, size_t a_stride,
                                             const std::byte* w, size_t w_stride,
                                             const std::byte* ahead, __m512 (&acc)[P][R]) {
  __m512 even[P][R], odd[P][R];
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) even[p][r] = odd[p][r] = _mm512_setzero_ps();
  }
  for (size_t k = 0; k < kBlock / 2; ++k) {
    __m512 x_even[R], x_odd[R];
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      __m512i pair = broadcast4(a + a_stride * static_cast<size_t>(r) + 4 * k);
      x_even[r] = even_of(pair);
      x_odd[r] = odd_of(pair);
    }
    HEARTH_UNROLL
    for (int p = 0; p < P; ++p) {
      const size_t at = w_stride * static_cast<size_t>(p) + 64 * k;
      prefetch_bytes(ahead + at, 64);
      __m512i pairs = load_codes(w + at);
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        even[p][r] = _mm512_fmadd_ps(x_even[r], even_of(pairs), even[p][r]);
        odd[p][r] = _mm512_fmadd_ps(x_odd[r], odd_of(pairs), odd[p][r]);
      }
    }
  }
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      acc[p][r] = _mm512_add_ps(acc[p][r], _mm512_add_ps(even[p][r], odd[p][r]));
    }
  }
}

// Multiplies R rows by P panels. It is not inline, since its arithmetic must stay between the
// constructor and the destructor of NoSubnormals.
template <int P, int R>
[[gnu::noinline]] void vectors(const ChainArgs& g, uint32_t panel) {
  constexpr uint32_t kAheadBlocks = 3;
  const std::byte* a = bytes_at(g, 0, g.block0);
  const std::byte* w = weights_at(g, panel, g.block0);
  const size_t a_stride = g.a.row_stride * sizeof(bf16_t), w_stride = g.w.codes_panel_bytes;
  // Prefetches that would go beyond the last block of these panels go to the first blocks of the
  // next panels instead.
  const std::byte* later = w + P * w_stride - kTileBytes * (g.stream1 - g.stream0);
  float* out = g.out + size_t{kPanelRows} * panel;
  __m512 acc[P][R];
  load_tile(out, g.out_stride, /*first=*/true, acc);
  for (uint32_t b = g.block0; b < g.block1; ++b) {
    const std::byte* from = b + kAheadBlocks < g.stream1 ? w : later;
    add_block(a, a_stride, w, w_stride, from + kTileBytes * kAheadBlocks, acc);
    a += kBlock * sizeof(bf16_t);
    w += kTileBytes;
    later += kTileBytes;
  }
  store_tile(out, g.out_stride, acc);
}

template <int R>
void vector_rows(const ChainArgs& g) {
  NoSubnormals mode;
  uint32_t p = 0;
  for (; p + kGemmStreams <= g.panels; p += kGemmStreams) vectors<kGemmStreams, R>(g, p);
  for (; p < g.panels; ++p) vectors<1, R>(g, p);
}

// Calls kernel(ChainArgs) for pieces of at most `max_rows` rows.
template <typename Kernel>
void in_rows(const ChainArgs& g, uint32_t max_rows, Kernel kernel) {
  for (uint32_t row = 0; row < g.m; row += max_rows) {
    ChainArgs some = g;
    some.a = act_rows(g.a, row, 0);
    some.m = std::min(max_rows, g.m - row);
    some.out += g.out_stride * row;
    kernel(some);
  }
}

void chains(const ChainArgs& g) {
  const GemmSchedule& s = g.schedule;
  if (s.tile_rows <= kVectorRows) {
    return in_rows(g, s.tile_rows, [](const ChainArgs& some) {
      if (some.m == 1) return vector_rows<1>(some);
      vector_rows<2>(some);
    });
  }
  if (s.tile_rows == kTileRows) {
    in_rows(g, kTileRows, few_rows);
  } else {
    many_rows(g);
  }
  amx::release();
}

}  // namespace

// Schedules do not set the distance of prefetches: each kernel has its own.
constinit const GemmMenu menu_bf16_amx = {.tiles = kMenuTiles,
                                          .slice = {4, 160},
                                          .unpack_rows = {0, 0},
                                          .prefetch = {kPrefetchBytes / 2, kPrefetchBytes / 2},
                                          .to_l2 = false};

void gemm_bf16_amx(const GemmArgs& g) {
  for_segments(g, g.m <= kTileRows ? kGemmStreams : kBranchPanels, chains);
}

}  // namespace hearth
