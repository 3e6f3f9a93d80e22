// The registers of the AVX-512 and AMX kernels of the quantised pack kinds (gemm_kinds-inl.h), the
// kinds to which these kernels unpack other kinds for many rows, and the prefetches of a tile.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/gemm/gemm_avx512-inl.h"
#include "kernels/gemm/gemm_avx512_bytes-inl.h"

namespace hearth {
namespace {

using Codes = __m512i;

inline Codes low_nibbles(Codes c) { return _mm512_and_si512(c, _mm512_set1_epi8(0x0f)); }
inline Codes shifted(Codes c, int left) {
  if (left > 0) return _mm512_slli_epi16(c, static_cast<unsigned>(left));
  if (left < 0) return _mm512_srli_epi16(c, static_cast<unsigned>(-left));
  return c;
}
inline Codes bits_of(Codes c, int left, char mask) {
  return _mm512_and_si512(shifted(c, left), _mm512_set1_epi8(mask));
}
inline Codes high_nibbles(Codes c) { return bits_of(c, -4, 0x0f); }
inline Codes with_bits(Codes low, Codes c, int left, char mask) {
  constexpr int kOrOfAnd = 0xf8;  // a | (b & c)
  return _mm512_ternarylogic_epi32(low, shifted(c, left), _mm512_set1_epi8(mask), kOrOfAnd);
}

struct Table {
  __m512i x;
};
inline Table load_table(const int8_t* values) { return {broadcast_table(values)}; }
inline Codes look_up(Table table, Codes c) { return _mm512_shuffle_epi8(table.x, c); }

using Floats = __m512;
inline Floats all_lanes(float x) { return _mm512_set1_ps(x); }
inline Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats negate(Floats x) { return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f)); }
inline Floats absolute(Floats x) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), x); }
inline Floats load_bf16(const std::byte* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
inline Floats load_u8(const std::byte* p) { return floats_of(sixteen_bytes(p)); }
inline Floats load_i8(const std::byte* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sixteen_bytes(p)));
}
inline Floats load_low_four(const std::byte* p) { return floats_of(low_fours(p)); }
inline Floats load_high_four(const std::byte* p) { return floats_of(high_fours(p)); }
inline Floats load_e8m0(const std::byte* p) { return floats_of_e8m0(sixteen_bytes(p)); }
inline Floats load_e4m3(const std::byte* p) { return floats_of_e4m3(sixteen_bytes(p)); }

}  // namespace
}  // namespace hearth

// This header needs the registers above.
#include "kernels/gemm/gemm_kinds-inl.h"

namespace hearth {
namespace {

// The codes and scales of consecutive panels. The base is the view of the first one.
struct Weights : PanelView {
  size_t codes_stride;
  size_t scales_stride;

  PanelView panel(size_t p) const {
    PanelView view = *this;
    view.codes += codes_stride * p;
    view.scales += scales_stride * p;
    return view;
  }
};

// Rows of activations, at the first block of the tile's K range. Rows of the per-block arrays lie
// stride / 32 apart; bias and sum have one entry a block or one a half.
struct Rows {
  const int8_t* codes;
  const float* scale;
  const int32_t* bias;
  const float* sum;
  size_t stride;
};

// Returns the shard's panels from `panel` on.
inline Weights weights_from(const GemmArgs& g, uint32_t panel, uint32_t block) {
  return {panel_of(g, panel, block), g.w.codes_panel_bytes, g.w.scales_panel_bytes};
}

template <typename Kind>
Rows rows_from(const GemmArgs& g, uint32_t row, uint32_t block) {
  constexpr bool kHalf = Kind::kHalves == 2;
  const size_t at = g.a.row_stride / kBlock * row + block;
  return {.codes = g.a.codes + at * kBlock,
          .scale = g.a.scale + at,
          .bias = kHalf ? g.a.bias16 + 2 * at : g.a.bias32 + at,
          .sum = kHalf ? g.a.sum16 + 2 * at : g.a.sum32 + at,
          .stride = g.a.row_stride};
}

// Returns the view of the rows of `a` from row `row` on.
template <typename Kind>
[[gnu::always_inline]] inline Rows rows_behind(const Rows& a, size_t row) {
  const size_t at = a.stride / kBlock * row;
  return {.codes = a.codes + at * kBlock,
          .scale = a.scale + at,
          .bias = a.bias + at * Kind::kHalves,
          .sum = a.sum + at * Kind::kHalves,
          .stride = a.stride};
}

// Codes of 4 bits as packed, with scales and minima in f32. On Zen 5 kQ4_K is 1.05 to 1.13 times as
// fast if these scales and minima are made once for all rows. Unpacking the codes to 8 bits as well
// makes it only 0.97 to 1.04 times as fast; kQ4_0 with scales in f32 is 0.97 to 1.0 times as fast.
using KindNibbles = Kind<FourBits<0>, FloatScales<1, true>>;

// The kind to which kernels unpack `Kind` for many rows. If it is `Kind` itself, weights are not
// unpacked but read in place.
template <typename Kind>
struct Unpacked : std::type_identity<KindBytes<8, 128, Kind::kHalves, Kind::kMin>> {};
template <typename Codes, typename Scales>
requires(Codes::kBits == 4 && Codes::kNibbles && Scales::kMin) struct Unpacked<Kind<Codes, Scales>>
    : std::type_identity<KindNibbles> {
};
template <>
struct Unpacked<KindQ8_0> : std::type_identity<KindQ8_0> {};
template <>
struct Unpacked<KindQ4_0> : std::type_identity<KindQ4_0> {};
template <typename Kind>
using UnpackedOf = typename Unpacked<Kind>::type;
template <typename Kind>
constexpr bool kInPlace = std::is_same_v<Kind, UnpackedOf<Kind>>;
template <typename Kind, typename... Some>
constexpr bool kIsOneOf = (std::is_same_v<Kind, Some> || ...);
// Kernels unpack these kinds if a call has at least the schedule's unpack_rows rows. All other
// kinds that are not read in place are unpacked in every call of several tiles of rows. So these
// other kinds have fewer sizes of tiles that read packed codes.
template <typename Kind>
constexpr bool kUnpacksByRows = kIsOneOf<Kind, KindQ4_K, KindQ5_K, KindQ6_K>;
template <typename Kind>
constexpr bool kUnpacksAlways = !kInPlace<Kind> && !kUnpacksByRows<Kind>;

// The tiles that fit the registers. An entry has a number of panels and the most rows with these.
constexpr TileRange kAllTiles[] = {{1, 1, 16}, {2, 1, 6}, {3, 1, 4}, {4, 1, 3}};
constexpr TileRange kFewTiles[] = {{1, 1, 8}, {2, 1, 6}, {4, 1, 3}};
template <typename Kind>
constexpr std::span<const TileRange> tiles_of() {
  if constexpr (kUnpacksAlways<Kind>) return kFewTiles;
  return kAllTiles;
}
template <typename Kind>
constexpr uint32_t tile_rows(uint32_t panels) {
  const bool few = kUnpacksAlways<Kind> && panels == 1;
  return few ? kFewTiles[0].max_rows : kAllTiles[panels - 1].max_rows;
}

// The prefetches of a tile. At each block, and for each panel, it prefetches the next codes_step
// bytes of codes and scales_step bytes of scales. From block `split` on the addresses are counted
// from the `later` pointers.
struct Ahead {
  Cache to;
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

// Returns the prefetches of tile `t` of `tiles` over one slice: the tile's share of the next slice,
// which starts at block w.block. So memory is read evenly, and not in one burst for each slice.
template <typename Kind>
Ahead next_slice(const Weights& w, const GemmSchedule& s, uint32_t blocks, uint32_t t,
                 uint32_t tiles) {
  auto share = [&](size_t bytes) {
    size_t step = s.prefetch == 0 ? 0 : (bytes / tiles + 63) / 64 * 64;
    return t * step < bytes ? step : 0;
  };
  Ahead ahead = {.to = s.prefetch_to,
                 .codes = w.codes + Kind::kCodeBytes * w.block,
                 .scales = w.scales + Kind::scales_start(w) + Kind::scale_step(w) * w.block,
                 .codes_later = nullptr,
                 .scales_later = nullptr,
                 .split = SIZE_MAX,
                 .codes_stride = w.codes_stride,
                 .scales_stride = w.scales_stride,
                 .codes_step = share(Kind::kCodeBytes),
                 .scales_step = share(Kind::scale_step(w))};
  ahead.codes += ahead.codes_step * blocks * t;
  ahead.scales += ahead.scales_step * blocks * t;
  return ahead;
}

// Prefetches the first `bytes` bytes of at most `Lines` cache lines, usually all of them. Its
// branches always go the same way, while a loop over `bytes` would cost a mispredicted exit each
// time.
template <Cache To, size_t... Lines>
[[gnu::always_inline]] inline void prefetch_some(const std::byte* p, size_t bytes,
                                                 std::index_sequence<Lines...>) {
  if (bytes > 64 * (sizeof...(Lines) - 1)) {
    (prefetch_bytes<To>(p + Lines * 64, 64), ...);
  } else {
    ((Lines * 64 < bytes ? prefetch_bytes<To>(p + Lines * 64, 64) : void()), ...);
  }
}

template <typename Kind, int P, Cache To>
[[gnu::always_inline]] inline void prefetch_to(const Ahead& ahead, size_t i) {
  const std::byte* codes =
      (i < ahead.split ? ahead.codes : ahead.codes_later) + ahead.codes_step * i;
  const std::byte* scales =
      (i < ahead.split ? ahead.scales : ahead.scales_later) + ahead.scales_step * i;
  for (size_t p = 0; p < P; ++p) {
    prefetch_some<To>(codes + ahead.codes_stride * p, ahead.codes_step,
                      std::make_index_sequence<Kind::kCodeBytes / 64>());
    prefetch_some<To>(scales + ahead.scales_stride * p, ahead.scales_step,
                      std::make_index_sequence<(Kind::kScaleBytes + 63) / 64>());
  }
}

template <typename Kind, int P>
[[gnu::always_inline]] inline void prefetch(const Ahead& ahead, size_t i) {
  if (ahead.to == Cache::kL1) {
    prefetch_to<Kind, P, Cache::kL1>(ahead, i);
  } else {
    prefetch_to<Kind, P, Cache::kL2>(ahead, i);
  }
}

}  // namespace
}  // namespace hearth
