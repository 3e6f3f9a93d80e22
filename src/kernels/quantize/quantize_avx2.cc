#include "kernels/simd/vec16_avx2-inl.h"
// The header below needs Vec16 before it.
#include "kernels/quantize/quantize-inl.h"

namespace hearth {
namespace {

struct Simd {
  static __m256i magnitude(const float* x) {
    return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)),
                            _mm256_set1_epi32(0x7fffffff));
  }
  static __m128i fold(__m128i x, __m128i (*op)(__m128i, __m128i)) {
    x = op(x, _mm_shuffle_epi32(x, 0x4e));
    return op(x, _mm_shuffle_epi32(x, 0xb1));
  }
  static __m128i max_of(__m128i a, __m128i b) { return _mm_max_epi32(a, b); }
  static __m128i sum_of(__m128i a, __m128i b) { return _mm_add_epi32(a, b); }

  static uint32_t largest_bits(const float* x) {
    __m256i m = _mm256_max_epi32(_mm256_max_epi32(magnitude(x), magnitude(x + 8)),
                                 _mm256_max_epi32(magnitude(x + 16), magnitude(x + 24)));
    __m128i m4 = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(fold(m4, max_of)));
  }
  static void make_codes(const float* x, float inverse, int8_t* codes, int32_t* sums) {
    for (size_t h = 0; h < 2; ++h) {
      __m256i low = round_eight(x + 16 * h, inverse), high = round_eight(x + 16 * h + 8, inverse);
      __m256i sum = _mm256_add_epi32(low, high);
      __m128i sum4 = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
      sums[h] = _mm_cvtsi128_si32(fold(sum4, sum_of));
      // Packing works within each half of the register, so the words come as 0..3 8..11 4..7
      // 12..15.
      __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
      __m128i bytes =
          _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * h), bytes);
    }
  }
  static __m256i round_eight(const float* x, float inverse) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), _mm256_set1_ps(inverse)));
  }
};

}  // namespace

void quantize_f32_avx2(const QuantizeArgs& args) { quantize_f32(args); }
void quantize_bf16_avx2(const QuantizeArgs& args) { quantize_bf16(args); }
void quantize_q8_avx2(const QuantizeArgs& args) { quantize_q8<Simd>(args); }

}  // namespace hearth
