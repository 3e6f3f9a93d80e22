// Vec16 in two AVX2 registers, with FMA and F16C. kernels/simd/vec16_avx512-inl.h has its contract.
// Only the ISA files *_avx2.cc and *_avxvnni.cc include this.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hearth {
namespace {

struct Vec16 {
  __m256 a, b;

  static Vec16 all(float f) { return {_mm256_set1_ps(f), _mm256_set1_ps(f)}; }
  static Vec16 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Vec16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Vec16 load_part(const float* p, uint32_t n) {
    alignas(32) float lanes[16] = {};
    std::memcpy(lanes, p, n * sizeof(float));
    return load(lanes);
  }
  static Vec16 load_f16(const uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static __m256 widen_bf16(const uint16_t* p) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
  static Vec16 load_bf16(const uint16_t* p) { return {widen_bf16(p), widen_bf16(p + 8)}; }
  static __m256 widen_i8(const int8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static Vec16 load_i8(const int8_t* p) { return {widen_i8(p), widen_i8(p + 8)}; }
};

struct Vec16Pair {
  Vec16 even, odd;
};

struct Pairs16 {
  __m256i a, b;

  static Pairs16 load_i8(const int8_t* p) {
    const __m128i* halves = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(halves)),
            _mm256_cvtepi8_epi16(_mm_loadu_si128(halves + 1))};
  }
  static Pairs16 all(const int16_t* p) {
    int32_t pair;
    __builtin_memcpy(&pair, p, sizeof pair);
    return {_mm256_set1_epi32(pair), _mm256_set1_epi32(pair)};
  }
};

struct Ints16 {
  __m256i a, b;

  static Ints16 zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
};

inline Ints16 dot(Ints16 sum, Pairs16 x, Pairs16 y) {
#ifdef __AVXVNNI__
  return {_mm256_dpwssd_avx_epi32(sum.a, x.a, y.a), _mm256_dpwssd_avx_epi32(sum.b, x.b, y.b)};
#else
  return {_mm256_add_epi32(sum.a, _mm256_madd_epi16(x.a, y.a)),
          _mm256_add_epi32(sum.b, _mm256_madd_epi16(x.b, y.b))};
#endif
}
inline Vec16 to_floats(Ints16 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }

inline void store(float* p, Vec16 v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}
inline void store_part(float* p, uint32_t n, Vec16 v) {
  alignas(32) float lanes[16];
  store(lanes, v);
  std::memcpy(p, lanes, n * sizeof(float));
}
inline void store_f16(uint16_t* p, Vec16 v) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v.a, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(v.b, kNearest));
}
inline __m256i round_bf16(__m256 x) {
  __m256i u = _mm256_castps_si256(x);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
  __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
}
inline void store_bf16(uint16_t* p, Vec16 v) {
  // packus works within 128-bit halves; the permutation puts the quarters back in order.
  __m256i packed = _mm256_packus_epi32(round_bf16(v.a), round_bf16(v.b));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}

inline void store_i16(int16_t* p, Vec16 v) {
  __m256i packed = _mm256_packs_epi32(_mm256_cvtps_epi32(v.a), _mm256_cvtps_epi32(v.b));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}

inline Vec16 fma(Vec16 x, Vec16 y, Vec16 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline Vec16 add(Vec16 x, Vec16 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline Vec16 sub(Vec16 x, Vec16 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline Vec16 mul(Vec16 x, Vec16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline Vec16 div(Vec16 x, Vec16 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline Vec16 max(Vec16 x, Vec16 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline Vec16 negate(Vec16 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(x.a, sign), _mm256_xor_ps(x.b, sign)};
}
inline Vec16 absolute(Vec16 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
inline Vec16 round(Vec16 x) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, kNearest), _mm256_round_ps(x.b, kNearest)};
}

inline Vec16 select_below(Vec16 x, float limit, Vec16 below, Vec16 other) {
  const __m256 bound = _mm256_set1_ps(limit);
  return {_mm256_blendv_ps(other.a, below.a, _mm256_cmp_ps(x.a, bound, _CMP_LT_OQ)),
          _mm256_blendv_ps(other.b, below.b, _mm256_cmp_ps(x.b, bound, _CMP_LT_OQ))};
}
inline Vec16 zero_below(Vec16 x, float limit, Vec16 y) {
  const __m256 bound = _mm256_set1_ps(limit);
  return {_mm256_andnot_ps(_mm256_cmp_ps(x.a, bound, _CMP_LT_OQ), y.a),
          _mm256_andnot_ps(_mm256_cmp_ps(x.b, bound, _CMP_LT_OQ), y.b)};
}
inline __m256 keep_eight(__m256 x, int begin, int end, __m256 other) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i from = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(begin - 1));
  __m256i to = _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane);
  return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(_mm256_and_si256(from, to)));
}
inline Vec16 keep_lanes(Vec16 x, int begin, int end, Vec16 other) {
  return {keep_eight(x.a, begin, end, other.a), keep_eight(x.b, begin - 8, end - 8, other.b)};
}
inline __m256 power_of_two_eight(__m256 x) {
  __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(x), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(exponent, _mm256_set1_epi32(0x3f800000)));
}
inline Vec16 power_of_two(Vec16 x) { return {power_of_two_eight(x.a), power_of_two_eight(x.b)}; }

inline float sum(Vec16 x) {
  __m256 x8 = _mm256_add_ps(x.a, x.b);
  __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
  x4 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
  return _mm_cvtss_f32(_mm_add_ss(x4, _mm_movehdup_ps(x4)));
}
inline float maximum(Vec16 x) {
  __m256 x8 = _mm256_max_ps(x.a, x.b);
  __m128 x4 = _mm_max_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
  x4 = _mm_max_ps(x4, _mm_movehl_ps(x4, x4));
  return _mm_cvtss_f32(_mm_max_ss(x4, _mm_movehdup_ps(x4)));
}

inline __m256 in_order(__m256 x) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}
inline Vec16Pair load_pairs(const float* p) {
  Vec16 x = Vec16::load(p), y = Vec16::load(p + 16);
  return {
      {in_order(_mm256_shuffle_ps(x.a, x.b, 0x88)), in_order(_mm256_shuffle_ps(y.a, y.b, 0x88))},
      {in_order(_mm256_shuffle_ps(x.a, x.b, 0xdd)), in_order(_mm256_shuffle_ps(y.a, y.b, 0xdd))}};
}
inline void store_eight_pairs(float* p, __m256 even, __m256 odd) {
  __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
  _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
  _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
}
inline void store_pairs(float* p, Vec16Pair v) {
  store_eight_pairs(p, v.even.a, v.odd.a);
  store_eight_pairs(p + 16, v.even.b, v.odd.b);
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
