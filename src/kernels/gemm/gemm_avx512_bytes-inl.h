// Bytes of scales and tables in AVX-512's registers, for all of its levels.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace hearth {
namespace {

inline __m128i sixteen_bytes(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline __m128i low_fours(const std::byte* p) {
  return _mm_and_si128(sixteen_bytes(p), _mm_set1_epi8(15));
}
inline __m128i high_fours(const std::byte* p) {
  return _mm_and_si128(_mm_srli_epi16(sixteen_bytes(p), 4), _mm_set1_epi8(15));
}
inline __m512 floats_of(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)); }

inline __m512 floats_of_e8m0(__m128i bytes) {
  const __m512i exponents = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23);
  return _mm512_castsi512_ps(_mm512_max_epi32(exponents, _mm512_set1_epi32(0x00400000)));
}
// A shifted E4M3 number, read as binary16, is 2^-8 times its value.
inline __m512 floats_of_e4m3(__m128i bytes) {
  const __m256i halves = _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 7);
  return _mm512_mul_ps(_mm512_cvtph_ps(halves), _mm512_set1_ps(256));
}

// Returns 16 values, each plus 128, in every quarter of a register.
inline __m512i broadcast_table(const int8_t* values) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm512_broadcast_i32x4(_mm_xor_si128(x, _mm_set1_epi8(-128)));
}

}  // namespace
}  // namespace hearth
