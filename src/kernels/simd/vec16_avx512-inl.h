// Vec16 holds 16 floats in one AVX-512 register. Only the ISA files *_avx512*.cc include this.
//
// Every ISA level has a Vec16 with these functions and the same result in every lane, so that a
// kernel written once over Vec16 gives the same bits on all of them:
//   all, zero, load, store; load_part, store_part   the first n lanes, the others read as zero
//   load_f16, load_bf16, load_i8
//   store_f16, store_bf16                           round to nearest even
//   load_pairs, store_pairs                         (even elements, odd elements) of 32 floats
//   fma(a, b, c)                                    a b + c in one rounding
//   add, sub, mul, div, negate, absolute
//   max(a, b)                                       b if unordered
//   round(x)                                        to the nearest integer, ties to even,
//                                                   |x| < 2^22
//   zero_below(x, limit, y)                         x < limit ? 0 : y
//   select_below(x, limit, a, b)                    x < limit ? a : b
//   keep_lanes(x, begin, end, other)                lanes [begin, end) of x, other outside
//   power_of_two(x)                                 2^n of x = kRoundMagic + n, n in [-126, 0]
//   sum(x)                                          by halves: lane l + lane l + 8, then + 4, + 2,
//                                                   + 1
//   maximum(x)
// and for integers:
//   Pairs16                                         16 lanes of two int16: load_i8 of 32 int8, in
//                                                   order; all(p): the two at p in every lane
//   Ints16                                          16 int32: zero; to_floats
//   dot(sum, a, b)                                  sum + a.first b.first + a.second b.second
//   store_i16(p, x)                                 round to nearest even, |x| < 2^15
#pragma once

// GCC 12's intrinsics pass a register that they never set where any value will do (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <cstdint>

namespace hearth {
namespace {

struct Vec16 {
  __m512 x;

  static Vec16 all(float f) { return {_mm512_set1_ps(f)}; }
  static Vec16 zero() { return {_mm512_setzero_ps()}; }
  static Vec16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vec16 load_part(const float* p, uint32_t n) {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p)};
  }
  static Vec16 load_f16(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  static Vec16 load_bf16(const uint16_t* p) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
  }
  static Vec16 load_i8(const int8_t* p) {
    return {_mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
  }
};

struct Vec16Pair {
  Vec16 even, odd;
};

struct Pairs16 {
  __m512i x;

  static Pairs16 load_i8(const int8_t* p) {
    return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  static Pairs16 all(const int16_t* p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return {_mm512_set1_epi32(pair)};
  }
};

struct Ints16 {
  __m512i x;

  static Ints16 zero() { return {_mm512_setzero_si512()}; }
};

inline Ints16 dot(Ints16 sum, Pairs16 a, Pairs16 b) {
#ifdef __AVX512VNNI__
  return {_mm512_dpwssd_epi32(sum.x, a.x, b.x)};
#else
  return {_mm512_add_epi32(sum.x, _mm512_madd_epi16(a.x, b.x))};
#endif
}
inline Vec16 to_floats(Ints16 a) { return {_mm512_cvtepi32_ps(a.x)}; }

inline void store(float* p, Vec16 a) { _mm512_storeu_ps(p, a.x); }
inline void store_part(float* p, uint32_t n, Vec16 a) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), a.x);
}
inline void store_f16(uint16_t* p, Vec16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline void store_bf16(uint16_t* p, Vec16 a) {
  __m512i u = _mm512_castps_si512(a.x);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
  __mmask16 nan = _mm512_cmp_ps_mask(a.x, a.x, _CMP_UNORD_Q);
  rounded = _mm512_mask_or_epi32(rounded, nan, u, _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

inline void store_i16(int16_t* p, Vec16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(a.x)));
}

inline Vec16 fma(Vec16 a, Vec16 b, Vec16 c) { return {_mm512_fmadd_ps(a.x, b.x, c.x)}; }
inline Vec16 add(Vec16 a, Vec16 b) { return {_mm512_add_ps(a.x, b.x)}; }
inline Vec16 sub(Vec16 a, Vec16 b) { return {_mm512_sub_ps(a.x, b.x)}; }
inline Vec16 mul(Vec16 a, Vec16 b) { return {_mm512_mul_ps(a.x, b.x)}; }
inline Vec16 div(Vec16 a, Vec16 b) { return {_mm512_div_ps(a.x, b.x)}; }
inline Vec16 max(Vec16 a, Vec16 b) { return {_mm512_max_ps(a.x, b.x)}; }
inline Vec16 negate(Vec16 a) { return {_mm512_xor_ps(a.x, _mm512_set1_ps(-0.0f))}; }
inline Vec16 absolute(Vec16 a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.x)}; }
inline Vec16 round(Vec16 a) {
  return {_mm512_roundscale_ps(a.x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

inline Vec16 zero_below(Vec16 a, float limit, Vec16 y) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.x, _mm512_set1_ps(limit), _CMP_NLT_UQ), y.x)};
}
inline Vec16 select_below(Vec16 a, float limit, Vec16 below, Vec16 other) {
  return {_mm512_mask_mov_ps(below.x, _mm512_cmp_ps_mask(a.x, _mm512_set1_ps(limit), _CMP_NLT_UQ),
                             other.x)};
}
inline Vec16 keep_lanes(Vec16 a, int begin, int end, Vec16 other) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __mmask16 keep = _mm512_cmpge_epi32_mask(lane, _mm512_set1_epi32(begin));
  keep = _mm512_mask_cmplt_epi32_mask(keep, lane, _mm512_set1_epi32(end));
  return {_mm512_mask_mov_ps(other.x, keep, a.x)};
}
inline Vec16 power_of_two(Vec16 a) {
  __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(a.x), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(0x3f800000)))};
}

inline float sum(Vec16 a) {
  __m256 x8 = _mm256_add_ps(_mm512_castps512_ps256(a.x), _mm512_extractf32x8_ps(a.x, 1));
  __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
  x4 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
  return _mm_cvtss_f32(_mm_add_ss(x4, _mm_movehdup_ps(x4)));
}
inline float maximum(Vec16 a) {
  __m256 x8 = _mm256_max_ps(_mm512_castps512_ps256(a.x), _mm512_extractf32x8_ps(a.x, 1));
  __m128 x4 = _mm_max_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
  x4 = _mm_max_ps(x4, _mm_movehl_ps(x4, x4));
  return _mm_cvtss_f32(_mm_max_ss(x4, _mm_movehdup_ps(x4)));
}

inline Vec16Pair load_pairs(const float* p) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  __m512 a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16);
  return {{_mm512_permutex2var_ps(a, even, b)}, {_mm512_permutex2var_ps(a, odd, b)}};
}
inline void store_pairs(float* p, Vec16Pair a) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  _mm512_storeu_ps(p, _mm512_permutex2var_ps(a.even.x, low, a.odd.x));
  _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(a.even.x, high, a.odd.x));
}

// These prefetch into L1, or into L2. They are inlined by force: GCC assumes that a function which
// only prefetches has no effect, and drops calls of it.
[[gnu::always_inline]] inline void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}
[[gnu::always_inline]] inline void prefetch_l2(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
}

}  // namespace
}  // namespace hearth
