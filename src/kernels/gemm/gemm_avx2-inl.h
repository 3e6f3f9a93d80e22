// Common code of the GEMM files of the levels over AVX2: codes in two registers of 8 lanes, their
// bits, bf16 and FP8. Such a file defines its Dots after this one.
#pragma once

#include "kernels/simd/vec16_avx2-inl.h"

// The headers below need the registers above.
#include "kernels/gemm/gemm_fp8_tables-inl.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

struct Codes {
  __m256i a, b;
};

inline Codes load_codes(const std::byte* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
inline void store_codes(std::byte* p, Codes c) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), c.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), c.b);
}

inline __m256i low_four_bits(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(0x0f)); }
inline Codes low_nibbles(Codes c) { return {low_four_bits(c.a), low_four_bits(c.b)}; }
inline Codes high_nibbles(Codes c) {
  return {low_four_bits(_mm256_srli_epi16(c.a, 4)), low_four_bits(_mm256_srli_epi16(c.b, 4))};
}

inline __m256i shifted_bits(__m256i x, int left, char mask) {
  x = left >= 0 ? _mm256_slli_epi16(x, left) : _mm256_srli_epi16(x, -left);
  return _mm256_and_si256(x, _mm256_set1_epi8(mask));
}
inline Codes bits_of(Codes c, int left, char mask) {
  return {shifted_bits(c.a, left, mask), shifted_bits(c.b, left, mask)};
}
inline Codes with_bits(Codes low, Codes c, int left, char mask) {
  return {_mm256_or_si256(low.a, shifted_bits(c.a, left, mask)),
          _mm256_or_si256(low.b, shifted_bits(c.b, left, mask))};
}

// Holds a table twice, once for each half of a register.
struct Table {
  __m256i x;
};
inline Table load_table(const int8_t* values) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return {_mm256_broadcastsi128_si256(_mm_xor_si128(x, _mm_set1_epi8(-128)))};
}
inline Codes look_up(Table table, Codes c) {
  return {_mm256_shuffle_epi8(table.x, c.a), _mm256_shuffle_epi8(table.x, c.b)};
}

inline __m128i sixteen_bytes(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline __m256i low_eight(__m128i bytes) { return _mm256_cvtepu8_epi32(bytes); }
inline __m256i high_eight(__m128i bytes) { return _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)); }
inline Vec16 floats_of(__m128i bytes) {
  return {_mm256_cvtepi32_ps(low_eight(bytes)), _mm256_cvtepi32_ps(high_eight(bytes))};
}
inline Vec16 load_u8(const std::byte* p) { return floats_of(sixteen_bytes(p)); }
inline Vec16 load_low_four(const std::byte* p) {
  return floats_of(_mm_and_si128(sixteen_bytes(p), _mm_set1_epi8(15)));
}
inline Vec16 load_high_four(const std::byte* p) {
  return floats_of(_mm_and_si128(_mm_srli_epi16(sixteen_bytes(p), 4), _mm_set1_epi8(15)));
}

inline __m256 eight_e8m0(__m256i codes) {
  const __m256i least = _mm256_set1_epi32(0x00400000);
  return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_slli_epi32(codes, 23), least));
}
inline Vec16 load_e8m0(const std::byte* p) {
  const __m128i bytes = sixteen_bytes(p);
  return {eight_e8m0(low_eight(bytes)), eight_e8m0(high_eight(bytes))};
}
// A shifted E4M3 number, read as binary16, is 2^-8 times its value.
inline __m256 eight_e4m3(__m128i bytes) {
  const __m128i halves = _mm_slli_epi16(_mm_cvtepu8_epi16(bytes), 7);
  return _mm256_mul_ps(_mm256_cvtph_ps(halves), _mm256_set1_ps(256));
}
inline Vec16 load_e4m3(const std::byte* p) {
  const __m128i bytes = sixteen_bytes(p);
  return {eight_e4m3(bytes), eight_e4m3(_mm_srli_si128(bytes, 8))};
}

inline __m256i load_four(const std::byte* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm256_set1_epi32(four);
}

// The traits that most dot products share (gemm_int8-inl.h).
struct OneRow {
  static constexpr int kRows = 1;
  static constexpr bool kTakesOffset = false;
  static constexpr size_t kBlockBytes = kBlock;
  using Group = Codes;
};

// Returns float(x + offset) for 16 integers x.
inline Vec16 to_float(__m256i a, __m256i b, int32_t offset) {
  const __m256i o = _mm256_set1_epi32(offset);
  return {_mm256_cvtepi32_ps(_mm256_add_epi32(a, o)), _mm256_cvtepi32_ps(_mm256_add_epi32(b, o))};
}

inline Vec16Pair widen_pairs(__m256i a, __m256i b) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000));
  auto even = [](__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); };
  auto odd = [&](__m256i v) { return _mm256_castsi256_ps(_mm256_and_si256(v, upper)); };
  return {{even(a), even(b)}, {odd(a), odd(b)}};
}
inline Vec16Pair bf16_pairs(Codes c) { return widen_pairs(c.a, c.b); }
inline Vec16Pair load_bf16_pairs(const std::byte* p) { return bf16_pairs(load_codes(p)); }
inline Vec16Pair all_bf16_pair(const bf16_t* p) {
  int32_t two;
  __builtin_memcpy(&two, p, sizeof two);
  return widen_pairs(_mm256_set1_epi32(two), _mm256_set1_epi32(two));
}

struct Fp8Shape {
  static constexpr int kWideRows = 1, kWidePanels = 2;
  static constexpr int kFewRows = 4, kPanels = 1;
  static constexpr int kTileRows = 6;
};

struct Fp8Pairs {
  Codes first, second;
};

inline __m256i both_lanes(const Fp8Table& table) {
  return _mm256_broadcastsi128_si256(
      _mm_load_si128(reinterpret_cast<const __m128i*>(table.data())));
}

struct Fp8Decoder {
  __m256i upper = both_lanes(kFp8Upper);
  __m256i upper_small = both_lanes(kFp8UpperSmall);
  __m256i lower_small = both_lanes(kFp8LowerSmall);

  struct Bytes {
    __m256i upper, lower;
  };
  Bytes bytes(__m256i c) const {
    // The top bit is set for ttt > 0, the low nibble stays.
    const __m256i small =
        _mm256_add_epi8(_mm256_and_si256(c, _mm256_set1_epi8(0x7f)), _mm256_set1_epi8(0x70));
    const __m256i top = low_four_bits(_mm256_srli_epi16(c, 4));
    const __m256i nibbles = _mm256_slli_epi16(low_four_bits(c), 4);
    return {
        _mm256_or_si256(_mm256_shuffle_epi8(upper, top), _mm256_shuffle_epi8(upper_small, small)),
        _mm256_xor_si256(nibbles, _mm256_shuffle_epi8(lower_small, small))};
  }
  Fp8Pairs decode(Codes c) const {
    const Bytes a = bytes(c.a), b = bytes(c.b);
    return {{_mm256_unpacklo_epi8(a.lower, a.upper), _mm256_unpacklo_epi8(b.lower, b.upper)},
            {_mm256_unpackhi_epi8(a.lower, a.upper), _mm256_unpackhi_epi8(b.lower, b.upper)}};
  }
};

}  // namespace
}  // namespace hearth
