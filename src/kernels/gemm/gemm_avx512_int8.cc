// AVX-512 VNNI kernels of the quantised pack kinds.
//
// One lane a weight row: a register of 64 codes holds 16 rows x 4 elements of K, and vpdpbusd with
// a broadcast of 4 activation codes adds a group's products to 16 sums. One tile function serves
// every kind and every M; a kind says how to make the codes of a group (unsigned, with an offset
// that the activations' bias takes back) and the scales of a block. Few rows: the tile unpacks in
// registers, since memory is the limit. Many rows: a slice of two panels is unpacked once to the
// 8-bit form of the same sums, and the tiles of all rows read that from L1.
//
// The limit of a tile on Zen 5: both pipes that execute vpdpbusd also execute the mul and fma that
// end a block, so 8 of 10 slots are dot products: 80 % of the int8 peak (67 % with halves of 16,
// 73 % and 57 % with minima).
#include <cstring>
#include <type_traits>

#include "kernels/gemm/gemm_avx512-inl.h"
#include "kernels/gemm/gemm_kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kTileRows = 6;
constexpr uint32_t kTilePanels = 2;
// Codes of one panel in a slice of K: two panels leave L1 (48 KiB) room for activations, scales and
// what is prefetched.
constexpr size_t kSliceBytes = size_t{12} << 10;
// From this many rows on unpacking to scratch pays.
constexpr uint32_t kUnpackRows = 24;

// Consecutive panels of codes and scales; a tile starts at `block` of them.
struct Weights {
  const std::byte* codes;
  const std::byte* scales;
  size_t codes_stride;
  size_t scales_stride;
  uint32_t phase;
  uint32_t supers;
  uint32_t block;
};

// Rows of activations, at the first block of the tile's K range. Those of the per-block arrays lie
// stride / 32 apart, bias and sum have one entry a block or one a half.
struct Rows {
  const int8_t* codes;
  const float* scale;
  const int32_t* bias;
  const float* sum;
  size_t stride;
};

inline __m512i nibbles(const std::byte* codes, int g) {
  __m512i x = load_codes(codes + 64 * (g % 4));
  if (g >= 4) x = _mm512_srli_epi16(x, 4);
  return _mm512_and_si512(x, _mm512_set1_epi8(0x0f));
}

inline __m512 load_u8(const std::byte* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

inline __m512 load_i8(const std::byte* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

inline __m512 negate(__m512 x) { return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f)); }

// A kind tells:
//   kHalves          scales a block: 1, or 2 for halves of 16
//   kMin             whether it has minima
//   kNibbles         low and high nibbles of a byte are groups g and g + 4: taken in turn
//   kOffset          of its codes
//   kCodeBytes       codes of a block in a panel
//   kScaleBytes      scales of a block in a panel, from scales_start() on
//   Unpacked         the kind that `unpack` makes of it for many rows; itself: used in place
//   group()          the codes of group g
//   scale(), min()   of half h of block b
struct KindQ8_0 {
  static constexpr int kHalves = 1;
  static constexpr bool kMin = false;
  static constexpr bool kNibbles = false;
  static constexpr int kOffset = 128;
  static constexpr size_t kCodeBytes = 512;
  static constexpr size_t kScaleBytes = 32;
  using Unpacked = KindQ8_0;

  static __m512i group(const std::byte* codes, int g) { return load_codes(codes + 64 * g); }
  static size_t scales_start(const Weights&) { return 0; }
  static __m512 scale(const Weights&, const std::byte* scales, uint32_t b, int) {
    return load_f16(scales + kScaleBytes * b);
  }
};

struct KindQ4_0 : KindQ8_0 {
  static constexpr bool kNibbles = true;
  static constexpr int kOffset = 8;
  static constexpr size_t kCodeBytes = 256;
  using Unpacked = KindQ4_0;

  static __m512i group(const std::byte* codes, int g) { return nibbles(codes, g); }
};

template <int H, bool Min>
struct KindI8 {
  static constexpr int kHalves = H;
  static constexpr bool kMin = Min;
  static constexpr bool kNibbles = false;
  static constexpr int kOffset = 128;
  static constexpr size_t kCodeBytes = 512;
  static constexpr size_t kScaleBytes = size_t{64} * H * (Min ? 2 : 1);
  using Unpacked = KindI8;

  static __m512i group(const std::byte* codes, int g) { return load_codes(codes + 64 * g); }
  static size_t scales_start(const Weights&) { return 0; }
  static __m512 scale(const Weights&, const std::byte* scales, uint32_t b, int h) {
    return load_f32(scales + kScaleBytes * b + 64 * h);
  }
  static __m512 min(const Weights&, const std::byte* scales, uint32_t b, int h) {
    return load_f32(scales + kScaleBytes * b + 64 * (H + h));
  }
};

struct KindQ4_K {
  static constexpr int kHalves = 1;
  static constexpr bool kMin = true;
  static constexpr bool kNibbles = true;
  static constexpr int kOffset = 0;
  static constexpr size_t kCodeBytes = 256;
  static constexpr size_t kScaleBytes = 32;
  using Unpacked = KindQ4_K;

  static __m512i group(const std::byte* codes, int g) { return nibbles(codes, g); }
  static size_t scales_start(const Weights& w) { return size_t{64} * w.supers; }
  static const std::byte* super(const Weights& w, const std::byte* scales, uint32_t b) {
    return scales + size_t{64} * ((b + w.phase) / kSuperBlocks);
  }
  static __m512 scale(const Weights& w, const std::byte* scales, uint32_t b, int) {
    return _mm512_mul_ps(load_f16(super(w, scales, b)),
                         load_u8(scales + scales_start(w) + kScaleBytes * b));
  }
  static __m512 min(const Weights& w, const std::byte* scales, uint32_t b, int) {
    return negate(_mm512_mul_ps(load_f16(super(w, scales, b) + 32),
                                load_u8(scales + scales_start(w) + kScaleBytes * b + 16)));
  }
};

struct KindQ6_K {
  static constexpr int kHalves = 2;
  static constexpr bool kMin = false;
  static constexpr bool kNibbles = false;  // a half at a time: two need too many registers
  static constexpr int kOffset = 32;
  static constexpr size_t kCodeBytes = 384;
  static constexpr size_t kScaleBytes = 32;
  using Unpacked = KindI8<2, false>;

  static __m512i group(const std::byte* codes, int g) {
    constexpr int kOrOfAnd = 0xf8;  // a | (b & c)
    __m512i high = load_codes(codes + 256 + 64 * (g / 4));
    int shift = 4 - 2 * (g % 4);
    if (shift > 0) high = _mm512_slli_epi16(high, static_cast<unsigned>(shift));
    if (shift < 0) high = _mm512_srli_epi16(high, static_cast<unsigned>(-shift));
    return _mm512_ternarylogic_epi32(nibbles(codes, g), high, _mm512_set1_epi8(0x30), kOrOfAnd);
  }
  static size_t scales_start(const Weights& w) { return size_t{32} * w.supers; }
  static __m512 scale(const Weights& w, const std::byte* scales, uint32_t b, int h) {
    const std::byte* super = scales + size_t{32} * ((b + w.phase) / kSuperBlocks);
    return _mm512_mul_ps(load_f16(super),
                         load_i8(scales + scales_start(w) + kScaleBytes * b + 16 * h));
  }
};

// The sums' start: what the offset of the codes adds to them, taken off.
template <typename Kind>
inline __m512i start(const int32_t* bias) {
  if constexpr (Kind::kOffset == 0) return _mm512_setzero_si512();
  __m512i x = _mm512_set1_epi32(*bias);
  // bias is -128 times the sum of codes, so the shift is exact.
  if constexpr (Kind::kOffset == 8) x = _mm512_srai_epi32(x, 4);
  if constexpr (Kind::kOffset == 32) x = _mm512_srai_epi32(x, 2);
  return x;
}

inline __m512i broadcast4(const int8_t* codes) {
  int32_t four;
  std::memcpy(&four, codes, sizeof four);
  return _mm512_set1_epi32(four);
}

// Ends half `h` of block b: the float part of the contract.
template <typename Kind, int P, int R>
[[gnu::always_inline]] inline void finish(const Weights& w, const Rows& a, uint32_t i, int h,
                                          const __m512i (&dot)[P][R], __m512 (&acc)[P][R]) {
  size_t per_row = a.stride / kBlock;
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    const std::byte* scales = w.scales + w.scales_stride * static_cast<size_t>(p);
    __m512 ws = Kind::scale(w, scales, w.block + i, h);
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      __m512 as = _mm512_set1_ps(a.scale[static_cast<size_t>(r) * per_row + i]);
      acc[p][r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[p][r]), _mm512_mul_ps(ws, as), acc[p][r]);
    }
    if constexpr (Kind::kMin) {
      __m512 min = Kind::min(w, scales, w.block + i, h);
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        size_t at = (static_cast<size_t>(r) * per_row + i) * Kind::kHalves + h;
        acc[p][r] = _mm512_fmadd_ps(min, _mm512_set1_ps(a.sum[at]), acc[p][r]);
      }
    }
  }
}

// One block, or one of its halves where `pass` halves are taken one after the other.
template <typename Kind, int P, int R, int Pass>
[[gnu::always_inline]] inline void block(const Weights& w, const Rows& a, uint32_t i,
                                         __m512 (&acc)[P][R]) {
  constexpr int kAtOnce = Kind::kNibbles ? Kind::kHalves : 1;
  constexpr int kPasses = Kind::kHalves / kAtOnce;
  const std::byte* codes = w.codes + Kind::kCodeBytes * (w.block + i);
  const int8_t* x = a.codes + size_t{kBlock} * i;
  __m512i dot[kAtOnce][P][R];
  HEARTH_UNROLL
  for (int h = 0; h < kAtOnce; ++h) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      size_t at = (static_cast<size_t>(r) * (a.stride / kBlock) + i) * Kind::kHalves + Pass + h;
      __m512i bias = start<Kind>(a.bias + at);
      HEARTH_UNROLL
      for (int p = 0; p < P; ++p) dot[h][p][r] = bias;
    }
  }
  HEARTH_UNROLL
  for (int s = 0; s < 8 / kPasses; ++s) {
    const int g = Kind::kNibbles ? s / 2 + 4 * (s % 2) : 4 * Pass + s;
    __m512i c[P];
    HEARTH_UNROLL
    for (int p = 0; p < P; ++p) {
      c[p] = Kind::group(codes + w.codes_stride * static_cast<size_t>(p), g);
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      __m512i four = broadcast4(x + static_cast<size_t>(r) * a.stride + 4 * g);
      HEARTH_UNROLL
      for (int p = 0; p < P; ++p) {
        __m512i& d = dot[kAtOnce == 1 ? 0 : g / 4][p][r];
        d = _mm512_dpbusd_epi32(d, c[p], four);
      }
    }
  }
  HEARTH_UNROLL
  for (int h = 0; h < kAtOnce; ++h) finish<Kind>(w, a, i, Pass + h, dot[h], acc);
}

// What a tile prefetches with each of its blocks: `step` bytes of the codes and of the scales of
// each panel, one after the other; from block `split` on counted from other origins.
struct Ahead {
  const std::byte* codes;
  const std::byte* scales;
  const std::byte* codes_later;
  const std::byte* scales_later;
  size_t split;
  size_t codes_stride;
  size_t scales_stride;
  size_t codes_step;
  size_t scales_step;
};

// For the only tile of its panels: what the same tile, or the next one, reads a little later.
template <typename Kind>
Ahead further_on(const GemmArgs& g, const Weights& w) {
  size_t far = (g.m == 1 ? kPrefetchOneRow : kPrefetchBytes) / Kind::kCodeBytes;
  const std::byte* codes = w.codes + Kind::kCodeBytes * (w.block + far);
  const std::byte* scales = w.scales + Kind::scales_start(w) + Kind::kScaleBytes * (w.block + far);
  // Behind the stream's end comes its beginning in the next panel.
  size_t left = g.stream1 - w.block, length = g.stream1 - g.stream0;
  bool known = g.stream1 != 0;
  return {.codes = codes,
          .scales = scales,
          .codes_later = codes + w.codes_stride - Kind::kCodeBytes * length,
          .scales_later = scales + w.scales_stride - Kind::kScaleBytes * length,
          .split = !known       ? SIZE_MAX
                   : left > far ? left - far
                                : 0,
          .codes_stride = w.codes_stride,
          .scales_stride = w.scales_stride,
          .codes_step = Kind::kCodeBytes,
          .scales_step = Kind::kScaleBytes};
}

// For tile `t` of `tiles` over the same slice: its share of the next slice, which starts at w.block
// of w. Memory is then read evenly and not in one burst a slice.
template <typename Kind>
Ahead next_slice(const Weights& w, uint32_t blocks, uint32_t t, uint32_t tiles) {
  auto share = [&](size_t bytes) {
    size_t step = (bytes / tiles + 63) / 64 * 64;
    return t * step < bytes ? step : 0;
  };
  Ahead ahead = {.codes = w.codes + Kind::kCodeBytes * w.block,
                 .scales = w.scales + Kind::scales_start(w) + Kind::kScaleBytes * w.block,
                 .codes_later = nullptr,
                 .scales_later = nullptr,
                 .split = SIZE_MAX,
                 .codes_stride = w.codes_stride,
                 .scales_stride = w.scales_stride,
                 .codes_step = share(Kind::kCodeBytes),
                 .scales_step = share(Kind::kScaleBytes)};
  ahead.codes += ahead.codes_step * blocks * t;
  ahead.scales += ahead.scales_step * blocks * t;
  return ahead;
}

// The first `bytes` of at most `Lines` cache lines. Branches that always go the same way, since a
// loop over `bytes` would cost a mispredicted exit each time.
template <size_t... Lines>
[[gnu::always_inline]] inline void prefetch_some(const std::byte* p, size_t bytes,
                                                 std::index_sequence<Lines...>) {
  ((Lines * 64 < bytes ? prefetch_bytes(p + Lines * 64, 64) : void()), ...);
}

template <typename Kind, int P>
[[gnu::always_inline]] inline void prefetch(const Ahead& ahead, size_t i) {
  const std::byte* codes =
      (i < ahead.split ? ahead.codes : ahead.codes_later) + ahead.codes_step * i;
  const std::byte* scales =
      (i < ahead.split ? ahead.scales : ahead.scales_later) + ahead.scales_step * i;
  for (size_t p = 0; p < P; ++p) {
    prefetch_some(codes + ahead.codes_stride * p, ahead.codes_step,
                  std::make_index_sequence<Kind::kCodeBytes / 64>());
    prefetch_some(scales + ahead.scales_stride * p, ahead.scales_step,
                  std::make_index_sequence<(Kind::kScaleBytes + 63) / 64>());
  }
}

// Accumulates `blocks` blocks of P panels and R rows onto `out` (onto zero if first).
template <typename Kind, int P, int R>
void tile(const Weights& weights, const Rows& rows, const Ahead& ahead, uint32_t blocks, bool first,
          float* out, size_t out_stride) {
  const Weights w = weights;
  const Rows a = rows;
  __m512 acc[P][R];
  load_tile(out, out_stride, first, acc);
  for (uint32_t i = 0; i < blocks; ++i) {
    prefetch<Kind, P>(ahead, i);
    block<Kind, P, R, 0>(w, a, i, acc);
    if constexpr (Kind::kHalves == 2 && !Kind::kNibbles) block<Kind, P, R, 1>(w, a, i, acc);
  }
  store_tile(out, out_stride, acc);
}

using TileFn = void (*)(const Weights&, const Rows&, const Ahead&, uint32_t, bool, float*, size_t);

template <typename Kind, int P, int... R>
TileFn tile_fn(uint32_t rows, std::integer_sequence<int, R...>) {
  static constexpr TileFn kTiles[] = {tile<Kind, P, R + 1>...};
  return kTiles[rows - 1];
}

// All rows of P panels over blocks [block0, block0 + blocks), which start at w.block. `ahead(t, n)`
// says what tile t of n prefetches.
template <typename Kind, int P, typename AheadFn>
void tiles(const GemmArgs& g, const Weights& w, uint32_t block0, uint32_t blocks, AheadFn ahead,
           float* out) {
  for_tiles(g.m, kTileRows, [&](uint32_t row, uint32_t rows, uint32_t t, uint32_t n) {
    const size_t at = g.a.row_stride / kBlock * row + block0;
    constexpr bool kHalf = Kind::kHalves == 2;
    Rows a = {.codes = g.a.codes + at * kBlock,
              .scale = g.a.scale + at,
              .bias = kHalf ? g.a.bias16 + 2 * at : g.a.bias32 + at,
              .sum = kHalf ? g.a.sum16 + 2 * at : g.a.sum32 + at,
              .stride = g.a.row_stride};
    auto fn = tile_fn<Kind, P>(rows, std::make_integer_sequence<int, kTileRows>());
    fn(w, a, ahead(t, n), blocks, block0 == g.block0, out + row * g.out_stride, g.out_stride);
  });
}

template <typename Kind>
constexpr uint32_t kSliceBlocks = kSliceBytes / Kind::Unpacked::kCodeBytes;

// Blocks [block0, block0 + blocks) of P panels as Kind::Unpacked in `scratch`.
template <typename Kind, int P>
Weights unpack(const Weights& w, uint32_t block0, uint32_t blocks, std::byte* scratch) {
  using To = typename Kind::Unpacked;
  static_assert(!Kind::kMin && To::kScaleBytes == 64 * Kind::kHalves);
  constexpr size_t kCodesStride = To::kCodeBytes * kSliceBlocks<Kind>;
  constexpr size_t kScalesStride = To::kScaleBytes * kSliceBlocks<Kind>;
  static_assert(P * (kCodesStride + kScalesStride) <= kGemmScratchBytes);
  const __m512i rebias = _mm512_set1_epi8(static_cast<char>(To::kOffset - Kind::kOffset));
  std::byte* all_scales = scratch + P * kCodesStride;
  for (size_t p = 0; p < P; ++p) {
    const std::byte* codes = w.codes + w.codes_stride * p + Kind::kCodeBytes * block0;
    const std::byte* scales = w.scales + w.scales_stride * p;
    std::byte* to_codes = scratch + kCodesStride * p;
    std::byte* to_scales = all_scales + kScalesStride * p;
    for (uint32_t i = 0; i < blocks; ++i, codes += Kind::kCodeBytes, to_codes += To::kCodeBytes) {
      HEARTH_UNROLL
      for (int g = 0; g < 8; ++g) {
        _mm512_storeu_si512(to_codes + 64 * g, _mm512_add_epi8(Kind::group(codes, g), rebias));
      }
      for (int h = 0; h < Kind::kHalves; ++h, to_scales += 64) {
        _mm512_storeu_ps(to_scales, Kind::scale(w, scales, block0 + i, h));
      }
    }
  }
  return {.codes = scratch,
          .scales = all_scales,
          .codes_stride = kCodesStride,
          .scales_stride = kScalesStride,
          .phase = 0,
          .supers = 0,
          .block = 0};
}

template <typename Kind, int P>
void gemm_panels(const GemmArgs& g, uint32_t panel, float* out) {
  using To = typename Kind::Unpacked;
  Weights w = {.codes = g.w.codes + g.w.codes_panel_bytes * panel,
               .scales = g.w.scales + g.w.scales_panel_bytes * panel,
               .codes_stride = g.w.codes_panel_bytes,
               .scales_stride = g.w.scales_panel_bytes,
               .phase = g.w.phase,
               .supers = g.w.supers,
               .block = g.block0};
  if (g.m <= kTileRows) {
    tiles<Kind, P>(
        g, w, g.block0, g.block1 - g.block0,
        [&](uint32_t, uint32_t) { return further_on<Kind>(g, w); }, out);
    return;
  }
  for_slices(g.block0, g.block1, kSliceBlocks<Kind>, [&](uint32_t begin, uint32_t end) {
    Weights next = w;
    next.block = end;
    if (end == g.block1) {
      next.block = g.block0;
      next.codes += P * w.codes_stride;
      next.scales += P * w.scales_stride;
    }
    auto ahead = [&](uint32_t t, uint32_t n) { return next_slice<Kind>(next, end - begin, t, n); };
    if constexpr (!std::is_same_v<Kind, To>) {
      if (g.m >= kUnpackRows) {
        Weights unpacked = unpack<Kind, P>(w, begin, end - begin, g.scratch);
        tiles<To, P>(g, unpacked, begin, end - begin, ahead, out);
        return;
      }
    }
    w.block = begin;
    tiles<Kind, P>(g, w, begin, end - begin, ahead, out);
  });
}

template <typename Kind>
void gemm(const GemmArgs& g) {
  uint32_t p = 0;
  // Few rows are bound by memory, which likes one stream best: with 4 rows of kQ8_0 one panel at a
  // time is 1.5 times as fast as two.
  if (g.m > kTileRows) {
    for (; p + kTilePanels <= g.panels; p += kTilePanels) {
      gemm_panels<Kind, kTilePanels>(g, g.panel0 + p, g.out + kPanelRows * p);
    }
  }
  for (; p < g.panels; ++p) gemm_panels<Kind, 1>(g, g.panel0 + p, g.out + kPanelRows * p);
}

}  // namespace

void gemm_q8_0_avx512(const GemmArgs& args) { gemm<KindQ8_0>(args); }
void gemm_q4_0_avx512(const GemmArgs& args) { gemm<KindQ4_0>(args); }
void gemm_q4_k_avx512(const GemmArgs& args) { gemm<KindQ4_K>(args); }
void gemm_q6_k_avx512(const GemmArgs& args) { gemm<KindQ6_K>(args); }
void gemm_i8x32_avx512(const GemmArgs& args) { gemm<KindI8<1, true>>(args); }
void gemm_i8x16_avx512(const GemmArgs& args) { gemm<KindI8<2, true>>(args); }

}  // namespace hearth
