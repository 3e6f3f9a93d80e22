// AMX kernels of the quantised pack kinds (Intel SDM volume 1, chapter 18): Sapphire Rapids on.
//
// A block of a panel as packed, 8 groups x 16 rows x 4 codes, is a tile in the layout of tdpbssd's
// second operand. 16 rows of activations x 32 codes are the first. One instruction then gives the
// block's 16 x 16 exact sums, where AVX-512 needs 128. The float part of the contract follows, once
// for each output and block. Sums go through memory, since no instruction moves a tile to vector
// registers: while one block's codes are multiplied, the sums of the block before are added up.
//
//   for each slice of K, pair of panels:  unpack codes to bytes and scales to f32, in scratch
//     for each 16 rows, panel:            the outputs in 16 registers, over the slice's blocks
//
// Rows beyond the last whole tile are copied to scratch and padded with zeros, to 8 or 16. If a
// call has few rows, AVX-512 multiplies them, which is as fast then; the results are the same to
// the bit.
//
// The limit: a block takes 16 cycles of the tile unit, which could do twice as much in that time
// with a block of 64. Moving the sums through memory and the float part take three times that. So a
// product reaches about a sixth of the unit's peak at most, and half as much with scales for halves
// of 16.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "kernels/gemm/gemm_avx512_kinds-inl.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/simd/tiles_amx-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kTileRows = 16, kSmallTileRows = 8;
constexpr uint32_t kTilePanels = 2;
constexpr uint32_t kSliceBlocks = 24;

// The kernels of both levels are entries of one menu: AVX-512's tiles, and 2 x 16 for tiles of AMX,
// whose slices are kSliceBlocks long at most and always unpacked.
template <typename Kind>
constexpr auto kMenuTiles = [] {
  constexpr std::span<const TileRange> avx512 = tiles_of<Kind>();
  std::array<TileRange, avx512.size() + 1> tiles{};
  std::ranges::copy(avx512, tiles.begin());
  tiles.back() = {kTilePanels, kTileRows, kTileRows};
  return tiles;
}();
template <typename Kind>
constexpr GemmMenu kMenu = {
    .tiles = kMenuTiles<Kind>,
    .slice = {4, kChainScratchBytes / (4 * (UnpackedOf<Kind>::kCodeBytes +
                                            size_t{64} * Kind::kHalves * (Kind::kMin ? 2 : 1)))},
    .unpack_rows = unpack_thresholds(kUnpacksByRows<Kind>),
    .prefetch = kPrefetchRange,
    .to_l2 = true};
// The bytes of the sums of a block, or of half a block.
constexpr size_t kSumBytes = size_t{kTileRows} * kPanelRows * sizeof(int32_t);

// A slice of a panel holds signed codes, block by block as packed, and per half block 16 scales and
// 16 minima.
struct Slice {
  alignas(64) int8_t codes[kSliceBlocks * kBlock * kPanelRows];
  float scales[kSliceBlocks * 2 * kPanelRows];
  float mins[kSliceBlocks * 2 * kPanelRows];
};

// The rows of a call behind its last whole tile of rows, padded with zeros.
struct Padded {
  alignas(64) int8_t codes[kTileRows * kSliceBlocks * kBlock];
  float scale[kTileRows * kSliceBlocks];
  float sum[kTileRows * kSliceBlocks * 2];
};

struct Scratch {
  Slice slices[kTilePanels];
  Padded padded;
  alignas(64) std::byte sums[2][kSumBytes];
};
static_assert(sizeof(Scratch) <= kChainScratchBytes);

template <typename Kind>
void unpack(const Weights& w, uint32_t block0, uint32_t blocks, Slice* to) {
  const std::byte* codes = w.codes + Kind::kCodeBytes * block0;
  const auto lookup = Kind::lookup(w);
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(Kind::kOffset));
  int8_t* to_codes = to->codes;
  float* to_scales = to->scales;
  float* to_mins = to->mins;
  for (uint32_t i = 0; i < blocks; ++i, codes += Kind::kCodeBytes) {
    HEARTH_UNROLL
    for (int g = 0; g < 8; ++g, to_codes += 64) {
      _mm512_store_si512(to_codes, _mm512_sub_epi8(Kind::group(codes, g, lookup), offset));
    }
    for (int h = 0; h < Kind::kHalves; ++h, to_scales += kPanelRows, to_mins += kPanelRows) {
      _mm512_store_ps(to_scales, Kind::scale(w, block0 + i, h));
      if constexpr (Kind::kMin) _mm512_store_ps(to_mins, Kind::min(w, block0 + i, h));
    }
  }
}

// Computes the sums of step s, a block or half a block, in tile B, which is 0 or 1 in turn.
template <int Halves, int B>
[[gnu::always_inline]] inline void multiply(const Slice& w, const Rows& a, uint32_t s,
                                            std::byte* sums) {
  constexpr size_t kStepCodes = kBlock / Halves;
  amx::zero<B>();
  amx::load<2 + B>(a.codes + kStepCodes * s, a.stride);
  amx::load<4 + B>(w.codes + kStepCodes * kPanelRows * s, 64);
  amx::dot_signed<B, 2 + B, 4 + B>();
  amx::store<B>(sums, 64);
}

// Adds the integer sums of step s to the outputs, by the float part of the contract.
template <typename Kind, int R>
[[gnu::always_inline]] inline void add_up(const Slice& w, const Rows& a, uint32_t s,
                                          const std::byte* sums, __m512 (&acc)[R]) {
  const size_t per_row = a.stride / kBlock;
  const float* scale = a.scale + s / Kind::kHalves;
  const float* sum = a.sum + s;
  const __m512 ws = _mm512_load_ps(w.scales + kPanelRows * s);
  HEARTH_UNROLL
  for (int r = 0; r < R; ++r) {
    __m512 dot = _mm512_cvtepi32_ps(_mm512_load_si512(sums + 64 * r));
    __m512 as = _mm512_set1_ps(scale[per_row * static_cast<size_t>(r)]);
    acc[r] = _mm512_fmadd_ps(dot, _mm512_mul_ps(ws, as), acc[r]);
  }
  if constexpr (Kind::kMin) {
    const __m512 min = _mm512_load_ps(w.mins + kPanelRows * s);
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      __m512 each = _mm512_set1_ps(sum[per_row * Kind::kHalves * static_cast<size_t>(r)]);
      acc[r] = _mm512_fmadd_ps(min, each, acc[r]);
    }
  }
}

// The place of a tile's outputs, and how many of its rows are not padding.
struct TileOut {
  float* out;
  size_t stride;
  uint32_t rows;
  bool first;  // whether it is the first slice
};

template <typename Kind, int R>
void tile(const Slice& w, const Rows& a, const Ahead& ahead, uint32_t blocks,
          std::byte (*sums)[kSumBytes], const TileOut& to) {
  constexpr int H = Kind::kHalves;
  const uint32_t steps = blocks * H;
  __m512 acc[R];
  HEARTH_UNROLL
  for (uint32_t r = 0; r < R; ++r) {
    bool load = !to.first && r < to.rows;
    acc[r] = load ? _mm512_loadu_ps(to.out + to.stride * r) : _mm512_setzero_ps();
  }
  multiply<H, 0>(w, a, 0, sums[0]);
  for (uint32_t s = 0; s < steps; s += 2) {
    if (s + 1 < steps) multiply<H, 1>(w, a, s + 1, sums[1]);
    prefetch<Kind, 1>(ahead, s / H);
    add_up<Kind>(w, a, s, sums[0], acc);
    if (s + 1 == steps) break;
    if (s + 2 < steps) multiply<H, 0>(w, a, s + 2, sums[0]);
    if constexpr (H == 1) prefetch<Kind, 1>(ahead, s + 1);
    add_up<Kind>(w, a, s + 1, sums[1], acc);
  }
  HEARTH_UNROLL
  for (uint32_t r = 0; r < R; ++r) {
    if (r < to.rows) _mm512_storeu_ps(to.out + to.stride * r, acc[r]);
  }
}

// The work of one call on one slice of K.
template <typename Kind>
class SliceWork {
 public:
  SliceWork(const GemmArgs& g, const GemmSchedule& s, uint32_t begin, uint32_t end)
      : g_(g),
        schedule_(s),
        scratch_(*reinterpret_cast<Scratch*>(g.scratch)),
        begin_(begin),
        end_(end) {
    uint32_t rest = g.m % kTileRows;
    if (rest != 0) pad(g.m - rest, rest);
  }

  // Multiplies all rows by `count` panels. `next` tells the block and the panels that will be
  // unpacked after these.
  void panels(const Weights& w, uint32_t count, const Weights& next, float* out) {
    for (uint32_t p = 0; p < count; ++p) {
      unpack<Kind>(panel_of(w, p), begin_, blocks(), &scratch_.slices[p]);
    }
    uint32_t whole = g_.m / kTileRows, rest = g_.m % kTileRows, tiles = whole + (rest != 0);
    for (uint32_t t = 0; t < tiles; ++t) {
      uint32_t row = t * kTileRows;
      bool padded = t == whole;
      Rows a = padded ? padded_rows() : rows_from<Kind>(g_, row, begin_);
      bool small = padded && rest <= kSmallTileRows;
      if (small) amx::configure(kShape<kSmallTileRows>);
      for (uint32_t p = 0; p < count; ++p) {
        Ahead ahead = next_slice<Kind>(panel_of(next, p), schedule_, blocks(), t, tiles);
        TileOut to{out + g_.out_stride * row + kPanelRows * p, g_.out_stride,
                   padded ? rest : kTileRows, begin_ == g_.block0};
        auto fn = small ? tile<Kind, kSmallTileRows> : tile<Kind, kTileRows>;
        fn(scratch_.slices[p], a, ahead, blocks(), scratch_.sums, to);
      }
      if (small) amx::configure(kShape<kTileRows>);
    }
  }

  // Tiles 0 and 1 are sums, 2 and 3 activations, 4 and 5 weights.
  template <uint32_t R>
  static constexpr amx::Shape kShape = [] {
    constexpr uint16_t kStep = kBlock / Kind::kHalves;
    amx::Shape shape;
    for (uint32_t b = 0; b < 2; ++b) {
      shape.set(b, R, 64);
      shape.set(2 + b, R, kStep);
      shape.set(4 + b, kStep / 4, 64);
    }
    return shape;
  }();

 private:
  static Weights panel_of(Weights w, uint32_t p) {
    w.codes += w.codes_stride * p;
    w.scales += w.scales_stride * p;
    return w;
  }

  uint32_t blocks() const { return end_ - begin_; }

  Rows padded_rows() const {
    const Padded& p = scratch_.padded;
    return {p.codes, p.scale, nullptr, p.sum, size_t{kBlock} * kSliceBlocks};
  }

  void pad(uint32_t row0, uint32_t rows) {
    Padded& to = scratch_.padded;
    for (uint32_t r = 0; r < kTileRows; ++r) {
      int8_t* codes = to.codes + size_t{kBlock} * kSliceBlocks * r;
      float* scale = to.scale + kSliceBlocks * r;
      float* sum = to.sum + kSliceBlocks * Kind::kHalves * r;
      if (r >= rows) {
        std::memset(codes, 0, size_t{kBlock} * blocks());
        std::memset(scale, 0, sizeof(float) * blocks());
        std::memset(sum, 0, sizeof(float) * blocks() * Kind::kHalves);
        continue;
      }
      Rows from = rows_from<Kind>(g_, row0 + r, begin_);
      std::memcpy(codes, from.codes, size_t{kBlock} * blocks());
      std::memcpy(scale, from.scale, sizeof(float) * blocks());
      if (Kind::kMin) std::memcpy(sum, from.sum, sizeof(float) * blocks() * Kind::kHalves);
    }
  }

  const GemmArgs& g_;
  const GemmSchedule& schedule_;
  Scratch& scratch_;
  uint32_t begin_, end_;
};

template <typename Kind>
void chains(const GemmArgs& g, const GemmSchedule& s) {
  using Work = SliceWork<Kind>;
  auto from = [&](uint32_t p, uint32_t block) { return weights_from(g, g.panel0 + p, block); };
  amx::configure(Work::template kShape<kTileRows>);
  const uint32_t slice = std::min<uint32_t>(s.slice, kSliceBlocks);
  for_slices(g.block0, g.block1, slice, [&](uint32_t begin, uint32_t end) {
    Work work(g, s, begin, end);
    for (uint32_t p = 0; p < g.panels; p += kTilePanels) {
      uint32_t count = std::min(kTilePanels, g.panels - p);
      bool last = p + count == g.panels;
      Weights next = !last             ? from(p + count, begin)
                     : end != g.block1 ? from(0, end)
                                       : from(g.panels, g.block0);
      work.panels(from(p, begin), count, next, g.out + kPanelRows * p);
    }
  });
  amx::release();
}

}  // namespace

#define HEARTH_DEFINE(kind, name, level)                                                          \
  constinit const GemmMenu menu_##name##_##level = kMenu<KindOf<PackKind::kind>>;                 \
  void gemm_##name##_##level(const GemmArgs& args) {                                              \
    const GemmSchedule& s = args.schedule;                                                        \
    if (s.tile_rows != kTileRows || s.tile_panels != kTilePanels) {                               \
      gemm_##name##_avx512(args);                                                                 \
    } else {                                                                                      \
      for_segments(args, kBranchPanels,                                                           \
                   [&](const GemmArgs& segment) { chains<KindOf<PackKind::kind>>(segment, s); }); \
    }                                                                                             \
  }
HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE, amx)
#undef HEARTH_DEFINE

}  // namespace hearth
