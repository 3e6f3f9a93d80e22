// AVX-512 VNNI kernels of the quantised pack kinds.
//
// Each weight row has a lane: a register of 64 codes holds 16 rows x 4 elements of K. vpdpbusd with
// a broadcast of 4 activation codes adds a group's products to 16 sums. The activations' bias
// removes the codes' offset. One tile function serves every kind and every M. Few rows: one tile of
// a panel has them all and unpacks in registers, so that memory is read once and evenly. Many rows:
// a slice of two panels is unpacked once to a form that costs less to read and gives the same sums
// (UnpackedOf<Kind>), and the tiles of all rows read that from L2.
//
// A tile's limit on Zen 4 and 5: the pipes that execute vpdpbusd also execute the mul and fma that
// end a block, and no other of its instructions. So 8 of 10 slots are dot products: 80 % of the
// int8 peak (67 % with halves of 16, 73 % and 57 % with minima).
#include <bit>
#include <span>
#include <type_traits>

#include "kernels/gemm/gemm_avx512_kinds-inl.h"
#include "kernels/gemm/gemm_kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kTilePanels = 2, kMaxTilePanels = 4;
// The least number of rows for which a tile of one panel keeps a block's codes in registers for all
// rows.
constexpr int kHeldRows = 5;
template <typename Kind>
constexpr GemmMenu menu_of() {
  using To = UnpackedOf<Kind>;
  constexpr size_t kBlockBytes = To::kCodeBytes + size_t{64} * Kind::kHalves * (Kind::kMin ? 2 : 1);
  return {.tiles = tiles_of<Kind>(),
          .slice = {4, kChainScratchBytes / (kMaxTilePanels * kBlockBytes)},
          .unpack_rows = unpack_thresholds(kUnpacksByRows<Kind>),
          .prefetch = kPrefetchRange,
          .to_l2 = true};
}

// Changes the schedule for panels that are too few for its tile. It then has tiles of `panels`
// panels with as many rows as fit, and the best distance of prefetches for so many streams.
template <typename Kind>
constexpr void take_tile(uint32_t panels, uint32_t m, GemmSchedule* s) {
  constexpr uint16_t kOneRow = 6144, kOneStream = 8192, kSeveral = 3072;
  s->tile_rows = static_cast<uint8_t>(tile_rows<Kind>(panels));
  s->prefetch = panels > 1 ? kSeveral : m == 1 ? kOneRow : kOneStream;
  s->prefetch_to = panels == 1 && m > 1 && m <= s->tile_rows ? Cache::kL2 : Cache::kL1;
}

// Returns where the sums start: at a number that cancels what the codes' offset adds to them.
template <typename Kind>
inline __m512i start(const int32_t* bias) {
  if constexpr (Kind::kOffset == 0) {
    return _mm512_setzero_si512();
  } else {
    const __m512i x = _mm512_set1_epi32(*bias);
    // bias is -128 times the sum of codes, so the shift is exact.
    constexpr int kShift = std::countr_zero(unsigned{128 / Kind::kOffset});
    return kShift == 0 ? x : _mm512_srai_epi32(x, kShift);
  }
}

// Adds the integer sums of half `h` of block i to the outputs of R rows, by the float part of the
// contract.
template <typename Kind, int R>
[[gnu::always_inline]] inline void finish(const Rows& a, uint32_t i, int h, __m512 scale,
                                          __m512 min, const __m512i* dot, __m512* acc) {
  const size_t per_row = a.stride / kBlock;
  HEARTH_UNROLL
  for (int r = 0; r < R; ++r) {
    __m512 as = _mm512_set1_ps(a.scale[static_cast<size_t>(r) * per_row + i]);
    acc[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[r]), _mm512_mul_ps(scale, as), acc[r]);
  }
  if constexpr (Kind::kMin) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      size_t at = (static_cast<size_t>(r) * per_row + i) * Kind::kHalves + h;
      acc[r] = _mm512_fmadd_ps(min, _mm512_set1_ps(a.sum[at]), acc[r]);
    }
  }
}

template <typename Kind>
[[gnu::always_inline]] inline __m512 min_of(const PanelView& w, uint32_t i, int h) {
  if constexpr (Kind::kMin) return Kind::min(w, w.block + i, h);
  return _mm512_setzero_ps();
}

// Adds one block of P panels to the outputs. If halves are taken one after the other, it adds only
// half `Pass`. A group's codes are multiplied with all rows as soon as they are unpacked.
template <typename Kind, int P, int R, int Pass>
[[gnu::always_inline]] inline void block(const Weights& w, const typename Kind::Lookup& lookup,
                                         const Rows& a, uint32_t i, __m512 (&acc)[P][R]) {
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
      c[p] = Kind::group(codes + w.codes_stride * static_cast<size_t>(p), g, lookup);
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
  for (int h = 0; h < kAtOnce; ++h) {
    HEARTH_UNROLL
    for (int p = 0; p < P; ++p) {
      const PanelView panel = w.panel(static_cast<size_t>(p));
      finish<Kind, R>(a, i, Pass + h, Kind::scale(panel, w.block + i, Pass + h),
                      min_of<Kind>(panel, i, Pass + h), dot[h][p], acc[p]);
    }
  }
}

// Holds a block of one panel in registers.
template <typename Kind>
struct HeldBlock {
  __m512i codes[8];
  __m512 scales[Kind::kHalves];
  __m512 mins[Kind::kHalves];
};

// Multiplies rows [R0, R) by a held block, a few at a time: so few that their sums leave registers
// for the codes, and so many that their chains hide the latency of a dot product.
template <typename Kind, int R, int R0>
[[gnu::always_inline]] inline void rows_with(const HeldBlock<Kind>& w, const Rows& all, uint32_t i,
                                             __m512 (&acc)[R]) {
  constexpr int kAtOnce = 4;
  constexpr int N = R - R0 < kAtOnce ? R - R0 : kAtOnce;
  const Rows a = rows_behind<Kind>(all, R0);
  const int8_t* x = a.codes + size_t{kBlock} * i;
  HEARTH_UNROLL
  for (int h = 0; h < Kind::kHalves; ++h) {
    constexpr int kGroups = 8 / Kind::kHalves;
    __m512i dot[N];
    HEARTH_UNROLL
    for (int r = 0; r < N; ++r) {
      size_t at = (static_cast<size_t>(r) * (a.stride / kBlock) + i) * Kind::kHalves + h;
      dot[r] = start<Kind>(a.bias + at);
    }
    HEARTH_UNROLL
    for (int g = kGroups * h; g < kGroups * (h + 1); ++g) {
      HEARTH_UNROLL
      for (int r = 0; r < N; ++r) {
        __m512i four = broadcast4(x + static_cast<size_t>(r) * a.stride + 4 * g);
        dot[r] = _mm512_dpbusd_epi32(dot[r], w.codes[g], four);
      }
    }
    finish<Kind, N>(a, i, h, w.scales[h], w.mins[h], dot, acc + R0);
  }
  if constexpr (R0 + N < R) rows_with<Kind, R, R0 + N>(w, all, i, acc);
}

// Adds one block of one panel to the outputs: first loads all its codes, then multiplies all rows
// by them.
template <typename Kind, int R>
[[gnu::always_inline]] inline void held_block(const Weights& w, const typename Kind::Lookup& lookup,
                                              const Rows& a, uint32_t i, __m512 (&acc)[R]) {
  const std::byte* codes = w.codes + Kind::kCodeBytes * (w.block + i);
  HeldBlock<Kind> held;
  HEARTH_UNROLL
  for (int g = 0; g < 8; ++g) held.codes[g] = Kind::group(codes, g, lookup);
  HEARTH_UNROLL
  for (int h = 0; h < Kind::kHalves; ++h) {
    held.scales[h] = Kind::scale(w, w.block + i, h);
    held.mins[h] = min_of<Kind>(w, i, h);
  }
  rows_with<Kind, R, 0>(held, a, i, acc);
}

// Returns the prefetches if a single tile reads its panels. They are bytes that the same tile, or
// the tile of the next panels, reads a little later.
template <typename Kind, int P>
Ahead further_on(const GemmArgs& g, const GemmSchedule& s, const Weights& w) {
  const size_t far = s.prefetch / Kind::kCodeBytes;
  const bool any = s.prefetch != 0;
  const std::byte* codes = w.codes + Kind::kCodeBytes * (w.block + far);
  const size_t step = Kind::scale_step(w);
  const std::byte* scales = w.scales + Kind::scales_start(w) + step * (w.block + far);
  // The next P panels are prefetched after the end of these P panels.
  size_t length = g.block1 - w.block;
  return {.to = s.prefetch_to,
          .codes = codes,
          .scales = scales,
          .codes_later = codes + P * w.codes_stride - Kind::kCodeBytes * length,
          .scales_later = scales + P * w.scales_stride - step * length,
          .split = length > far ? length - far : 0,
          .codes_stride = w.codes_stride,
          .scales_stride = w.scales_stride,
          .codes_step = any ? Kind::kCodeBytes : 0,
          .scales_step = any ? step : 0};
}

// The blocks of a tile. The tile starts with the sums in `out`, or with zero if the blocks are the
// first ones. If K is cut (GemmArgs::cuts), they are all blocks of the call.
struct Run {
  uint32_t blocks;
  bool first;
  std::span<const uint32_t> cuts;
};

// Multiplies P panels by R rows. The sums of left branches of K's tree are kept on a stack until
// the right branches are done. After segment s it holds as many of them as s + 1 has ones in
// binary.
template <typename Kind, int P, int R>
void tile(const Weights& weights, const Rows& rows, const Ahead& ahead, const Run& run, float* out,
          size_t out_stride) {
  constexpr size_t kStride = size_t{kPanelRows} * P;
  alignas(64) float waiting[std::bit_width(kMaxCuts)][kStride * R];
  const Weights w = weights;
  const auto lookup = Kind::lookup(w);
  const Rows a = rows;
  const auto last = static_cast<uint32_t>(run.cuts.size());
  __m512 acc[P][R];
  load_tile(out, out_stride, run.first, acc);
  uint32_t i = 0;
  for (uint32_t s = 0;; ++s) {
    const uint32_t end = s < last ? run.cuts[s] - w.block : run.blocks;
    for (; i < end; ++i) {
      prefetch<Kind, P>(ahead, i);
      if constexpr (P == 1 && R >= kHeldRows) {
        held_block<Kind, R>(w, lookup, a, i, acc[0]);
      } else {
        block<Kind, P, R, 0>(w, lookup, a, i, acc);
        if constexpr (Kind::kHalves == 2 && !Kind::kNibbles)
          block<Kind, P, R, 1>(w, lookup, a, i, acc);
      }
    }
    int top = std::popcount(s);
    const int least = s == last ? 0 : top - std::countr_one(s);
    while (top > least) add_tile(waiting[--top], kStride, acc);
    if (s == last) break;
    store_tile(waiting[top], kStride, acc);
    load_tile(out, out_stride, /*first=*/true, acc);
  }
  store_tile(out, out_stride, acc);
}

using TileFn = void (*)(const Weights&, const Rows&, const Ahead&, const Run&, float*, size_t);

template <typename Kind, int P, int... R>
TileFn tile_fn(uint32_t rows, std::integer_sequence<int, R...>) {
  static constexpr TileFn kTiles[] = {tile<Kind, P, R + 1>...};
  return kTiles[rows - 1];
}

// Multiplies all rows by P panels over `run`, whose blocks start at block0 of the activations and
// at w.block of the weights, in tiles of at most `max_rows`. `ahead(t, n)` returns the prefetches
// of tile t of n.
template <typename Kind, int P, typename AheadFn>
void tiles(const GemmArgs& g, uint32_t max_rows, const Weights& w, uint32_t block0, const Run& run,
           AheadFn ahead, float* out) {
  for_tiles(g.m, max_rows, [&](uint32_t row, uint32_t rows, uint32_t t, uint32_t n) {
    Rows a = rows_from<Kind>(g, row, block0);
    auto fn = tile_fn<Kind, P>(rows, std::make_integer_sequence<int, tile_rows<Kind>(P)>());
    fn(w, a, ahead(t, n), run, out + row * g.out_stride, g.out_stride);
  });
}

// Unpacks blocks [block0, block0 + blocks) of P panels, of a slice of at most `slice`, to
// UnpackedOf<Kind> in `scratch`.
template <typename Kind, int P>
Weights unpack(const Weights& w, uint32_t block0, uint32_t blocks, size_t slice,
               std::byte* scratch) {
  using To = UnpackedOf<Kind>;
  static_assert(To::kScaleBytes == 64 * Kind::kHalves * (Kind::kMin ? 2 : 1));
  static_assert(P <= kMaxTilePanels);
  const size_t codes_stride = To::kCodeBytes * slice, scales_stride = To::kScaleBytes * slice;
  const __m512i rebias = _mm512_set1_epi8(static_cast<char>(To::kOffset - Kind::kOffset));
  std::byte* all_scales = scratch + P * codes_stride;
  const auto lookup = Kind::lookup(w);
  for (size_t p = 0; p < P; ++p) {
    const std::byte* codes = w.codes + w.codes_stride * p + Kind::kCodeBytes * block0;
    const PanelView panel = w.panel(p);
    std::byte* to_codes = scratch + codes_stride * p;
    std::byte* to_scales = all_scales + scales_stride * p;
    for (uint32_t i = 0; i < blocks; ++i, codes += Kind::kCodeBytes, to_codes += To::kCodeBytes) {
      if constexpr (To::kNibbles) {
        std::memcpy(to_codes, codes, To::kCodeBytes);
      } else {
        HEARTH_UNROLL
        for (int g = 0; g < 8; ++g) {
          _mm512_storeu_si512(to_codes + 64 * g,
                              _mm512_add_epi8(Kind::group(codes, g, lookup), rebias));
        }
      }
      for (int h = 0; h < Kind::kHalves; ++h, to_scales += 64) {
        _mm512_storeu_ps(to_scales, Kind::scale(panel, block0 + i, h));
      }
      if constexpr (Kind::kMin) {
        for (int h = 0; h < Kind::kHalves; ++h, to_scales += 64) {
          _mm512_storeu_ps(to_scales, Kind::min(panel, block0 + i, h));
        }
      }
    }
  }
  Weights to = {{}, codes_stride, scales_stride};
  to.codes = scratch;
  to.scales = all_scales;
  return to;
}

// Multiplies all rows by P panels in tiles of at most s.tile_rows rows.
template <typename Kind, int P>
void gemm_panels(const GemmArgs& g, const GemmSchedule& s, uint32_t panel, float* out) {
  using To = UnpackedOf<Kind>;
  Weights w = weights_from(g, panel, g.block0);
  if (g.m <= s.tile_rows) {
    tiles<Kind, P>(
        g, s.tile_rows, w, g.block0, {g.block1 - g.block0, true, g.cuts},
        [&](uint32_t, uint32_t) { return further_on<Kind, P>(g, s, w); }, out);
    return;
  }
  for_slices(g.block0, g.block1, s.slice, [&](uint32_t begin, uint32_t end) {
    Weights next =
        end == g.block1 ? weights_from(g, panel + P, g.block0) : weights_from(g, panel, end);
    auto ahead = [&](uint32_t t, uint32_t n) {
      return next_slice<Kind>(next, s, end - begin, t, n);
    };
    const Run run = {end - begin, begin == g.block0, {}};
    if constexpr (!kInPlace<Kind>) {
      if (kUnpacksAlways<Kind> || g.m >= s.unpack_rows) {
        Weights unpacked = unpack<Kind, P>(w, begin, end - begin, s.slice, g.scratch);
        tiles<To, P>(g, s.tile_rows, unpacked, begin, run, ahead, out);
        return;
      }
    }
    if constexpr (!kUnpacksAlways<Kind>) {
      w.block = begin;
      tiles<Kind, P>(g, s.tile_rows, w, begin, run, ahead, out);
    }
  });
}

// Calls gemm_panels<Kind, P> as long as P panels are left from `panel` on.
template <typename Kind, uint32_t P>
void gemm_groups(const GemmArgs& g, const GemmSchedule& wanted, uint32_t* panel) {
  if (wanted.tile_panels < P || *panel + P > g.panels) return;
  GemmSchedule s = wanted;
  if (wanted.tile_panels > P) take_tile<Kind>(P, g.m, &s);
  for (; *panel + P <= g.panels; *panel += P) {
    gemm_panels<Kind, P>(g, s, g.panel0 + *panel, g.out + kPanelRows * *panel);
  }
}

template <typename Kind>
void panels(const GemmArgs& g) {
  const GemmSchedule& s = g.schedule;
  uint32_t panel = 0;
  if (s.tile_panels == kGemmStreams) gemm_groups<Kind, kGemmStreams>(g, s, &panel);
  if constexpr (!kUnpacksAlways<Kind>) {
    if (s.tile_panels == 3) gemm_groups<Kind, 3>(g, s, &panel);
  }
  gemm_groups<Kind, kTilePanels>(g, s, &panel);
  gemm_groups<Kind, 1>(g, s, &panel);
}

template <typename Kind>
void gemm(const GemmArgs& g) {
  const GemmSchedule& s = g.schedule;
  // If one tile has all rows, it adds the segments of K itself.
  if (g.m <= s.tile_rows) return panels<Kind>(g);
  const uint32_t at_once = g.m <= tile_rows<Kind>(1) ? s.tile_panels : kBranchPanels;
  for_segments(g, at_once / s.tile_panels * s.tile_panels, panels<Kind>);
}

}  // namespace

#define HEARTH_DEFINE(kind, name, level)                                              \
  constinit const GemmMenu menu_##name##_##level = menu_of<KindOf<PackKind::kind>>(); \
  void gemm_##name##_##level(const GemmArgs& args) { gemm<KindOf<PackKind::kind>>(args); }
HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE, avx512)
#undef HEARTH_DEFINE

}  // namespace hearth
