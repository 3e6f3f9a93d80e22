// What the GEMM files of the levels over AVX2 share: codes in two registers of 8 lanes, their bits,
// bf16 and FP8. Such a file defines its Dots after this one.
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

// Returns nibbles | (bits shifted left by `left`, right if negative, & mask), with the mask in
// every byte.
inline __m256i add_bits(__m256i nibbles, __m256i bits, int left, char mask) {
  bits = left >= 0 ? _mm256_slli_epi16(bits, left) : _mm256_srli_epi16(bits, -left);
  return _mm256_or_si256(nibbles, _mm256_and_si256(bits, _mm256_set1_epi8(mask)));
}
inline Codes with_fifth_bit(Codes nibbles, Codes bits, int i) {
  return {add_bits(nibbles.a, bits.a, 4 - i, 0x10), add_bits(nibbles.b, bits.b, 4 - i, 0x10)};
}
inline Codes with_high_bits(Codes nibbles, Codes bits, int i) {
  const int left = 4 - 2 * i;
  return {add_bits(nibbles.a, bits.a, left, 0x30), add_bits(nibbles.b, bits.b, left, 0x30)};
}

inline __m256 eight_u8(const std::byte* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vec16 load_u8(const std::byte* p) { return {eight_u8(p), eight_u8(p + 8)}; }

inline __m256i load_four(const std::byte* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm256_set1_epi32(four);
}

// What most dot products have in common (gemm_int8-inl.h).
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
