// The quantised pack kinds as the AVX-512 and AMX kernels see them: a kind says how to make the
// codes of a group (unsigned, with an offset) and the scales of a block. Also the prefetches of a
// tile.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/gemm/gemm_avx512-inl.h"

namespace hearth {
namespace {

// The codes and scales of consecutive panels; a tile starts at their block `block`.
struct Weights {
  const std::byte* codes;
  const std::byte* scales;
  size_t codes_stride;
  size_t scales_stride;
  uint32_t super_offset;
  uint32_t supers;
  uint32_t block;
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
  return {.codes = g.w.codes + g.w.codes_panel_bytes * panel,
          .scales = g.w.scales + g.w.scales_panel_bytes * panel,
          .codes_stride = g.w.codes_panel_bytes,
          .scales_stride = g.w.scales_panel_bytes,
          .super_offset = g.w.super_offset,
          .supers = g.w.supers,
          .block = block};
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

// Returns the rows from row `row` of `a` on.
template <typename Kind>
[[gnu::always_inline]] inline Rows rows_behind(const Rows& a, size_t row) {
  const size_t at = a.stride / kBlock * row;
  return {.codes = a.codes + at * kBlock,
          .scale = a.scale + at,
          .bias = a.bias + at * Kind::kHalves,
          .sum = a.sum + at * Kind::kHalves,
          .stride = a.stride};
}

inline __m512i nibbles(const std::byte* codes, int g) {
  __m512i x = load_codes(codes + 64 * (g % 4));
  if (g >= 4) x = _mm512_srli_epi16(x, 4);
  return _mm512_and_si512(x, _mm512_set1_epi8(0x0f));
}

// Returns low | (bits shifted left by `shift`, right if negative, & mask), with the mask in every
// byte.
inline __m512i with_bits(__m512i low, __m512i bits, int shift, char mask) {
  constexpr int kOrOfAnd = 0xf8;  // a | (b & c)
  if (shift > 0) bits = _mm512_slli_epi16(bits, static_cast<unsigned>(shift));
  if (shift < 0) bits = _mm512_srli_epi16(bits, static_cast<unsigned>(-shift));
  return _mm512_ternarylogic_epi32(low, bits, _mm512_set1_epi8(mask), kOrOfAnd);
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

// Codes of 4 bits as packed, with scales and minima in f32. On Zen 5 kQ4_K is 1.05 to 1.13 times as
// fast with these made once for all rows; with codes of 8 bits beside them 0.97 to 1.04 times, and
// kQ4_0 with scales in f32 0.97 to 1.0 times.
struct KindNibbles {
  static constexpr int kHalves = 1;
  static constexpr bool kMin = true;
  static constexpr bool kNibbles = true;
  static constexpr int kOffset = 0;
  static constexpr size_t kCodeBytes = 256;
  static constexpr size_t kScaleBytes = 128;
  using Unpacked = KindNibbles;

  static __m512i group(const std::byte* codes, int g) { return nibbles(codes, g); }
  static size_t scales_start(const Weights&) { return 0; }
  static __m512 scale(const Weights&, const std::byte* scales, uint32_t b, int) {
    return load_f32(scales + kScaleBytes * b);
  }
  static __m512 min(const Weights&, const std::byte* scales, uint32_t b, int) {
    return load_f32(scales + kScaleBytes * b + 64);
  }
};

struct KindQ4_K {
  static constexpr int kHalves = 1;
  static constexpr bool kMin = true;
  static constexpr bool kNibbles = true;
  static constexpr int kOffset = 0;
  static constexpr size_t kCodeBytes = 256;
  static constexpr size_t kScaleBytes = 32;
  using Unpacked = KindNibbles;

  static __m512i group(const std::byte* codes, int g) { return nibbles(codes, g); }
  static size_t scales_start(const Weights& w) { return size_t{64} * w.supers; }
  static const std::byte* super(const Weights& w, const std::byte* scales, uint32_t b) {
    return scales + size_t{64} * ((b + w.super_offset) / kSuperBlocks);
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

struct KindQ5_K : KindQ4_K {
  static constexpr size_t kCodeBytes = 320;
  using Unpacked = KindI8<1, true>;

  static __m512i group(const std::byte* codes, int g) {
    return with_bits(nibbles(codes, g), load_codes(codes + 256), 4 - g, 0x10);
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
    return with_bits(nibbles(codes, g), load_codes(codes + 256 + 64 * (g / 4)), 4 - 2 * (g % 4),
                     0x30);
  }
  static size_t scales_start(const Weights& w) { return size_t{32} * w.supers; }
  static __m512 scale(const Weights& w, const std::byte* scales, uint32_t b, int h) {
    const std::byte* super = scales + size_t{32} * ((b + w.super_offset) / kSuperBlocks);
    return _mm512_mul_ps(load_f16(super),
                         load_i8(scales + scales_start(w) + kScaleBytes * b + 16 * h));
  }
};

template <PackKind>
struct KindOfPack;
template <>
struct KindOfPack<PackKind::kQ8_0> : std::type_identity<KindQ8_0> {};
template <>
struct KindOfPack<PackKind::kQ4_0> : std::type_identity<KindQ4_0> {};
template <>
struct KindOfPack<PackKind::kQ4_K> : std::type_identity<KindQ4_K> {};
template <>
struct KindOfPack<PackKind::kQ5_K> : std::type_identity<KindQ5_K> {};
template <>
struct KindOfPack<PackKind::kQ6_K> : std::type_identity<KindQ6_K> {};
template <>
struct KindOfPack<PackKind::kI8x32> : std::type_identity<KindI8<1, true>> {};
template <>
struct KindOfPack<PackKind::kI8x16> : std::type_identity<KindI8<2, true>> {};
template <PackKind kind>
using KindOf = typename KindOfPack<kind>::type;

// With each of its blocks a tile prefetches codes_step bytes of the codes and scales_step bytes of
// the scales of each panel, one after the other; from block `split` on they are counted from the
// `later` pointers.
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

// Returns the prefetches of tile `t` of `tiles` over one slice: its share of the next slice, which
// starts at block w.block. So memory is read evenly and not in one burst a slice.
template <typename Kind>
Ahead next_slice(const Weights& w, const GemmSchedule& s, uint32_t blocks, uint32_t t,
                 uint32_t tiles) {
  auto share = [&](size_t bytes) {
    size_t step = s.prefetch == 0 ? 0 : (bytes / tiles + 63) / 64 * 64;
    return t * step < bytes ? step : 0;
  };
  Ahead ahead = {.to = s.prefetch_to,
                 .codes = w.codes + Kind::kCodeBytes * w.block,
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

// Prefetches the first `bytes` of at most `Lines` cache lines, usually all. Its branches always go
// the same way, while a loop over `bytes` would cost a mispredicted exit each time.
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
