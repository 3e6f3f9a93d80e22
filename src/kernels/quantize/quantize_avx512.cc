#include "kernels/simd/vec16_avx512-inl.h"
// After the registers that it is written over.
#include "kernels/quantize/quantize-inl.h"

namespace hearth {
namespace {

struct Simd {
  static __m512i magnitude(const float* x) {
    return _mm512_and_si512(_mm512_loadu_si512(x), _mm512_set1_epi32(0x7fffffff));
  }
  static uint32_t largest_bits(const float* x) {
    return _mm512_reduce_max_epu32(_mm512_max_epu32(magnitude(x), magnitude(x + 16)));
  }
  static void make_codes(const float* x, float inverse, int8_t* codes, int32_t* sums) {
    for (size_t h = 0; h < 2; ++h) {
      __m512i rounded =
          _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16 * h), _mm512_set1_ps(inverse)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * h), _mm512_cvtepi32_epi8(rounded));
      sums[h] = _mm512_reduce_add_epi32(rounded);
    }
  }
};

}  // namespace

void quantize_f32_avx512(const QuantizeArgs& args) { quantize_f32(args); }
void quantize_bf16_avx512(const QuantizeArgs& args) { quantize_bf16(args); }
void quantize_q8_avx512(const QuantizeArgs& args) { quantize_q8<Simd>(args); }

}  // namespace hearth
