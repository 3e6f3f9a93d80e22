#include "kernels/simd/vec16_avx512-inl.h"
// The header below needs Vec16 before it.
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

  static bool make_four(const float* x, const ActBuffer& out, size_t at) {
    const __m512i largest = largest_of_four(x);
    const __m128i bits = _mm512_castsi512_si128(largest);
    const __mmask8 apart =
        _mm_cmplt_epu32_mask(bits, _mm_set1_epi32(static_cast<int>(kMinAmaxBits))) |
        _mm_cmpge_epu32_mask(bits, _mm_set1_epi32(static_cast<int>(kInfinityBits)));
    if (apart != 0) return false;
    const __m128 amax = _mm_castsi128_ps(bits), limit = _mm_set1_ps(127.0f);
    const __m512 inverse = _mm512_broadcast_f32x4(_mm_div_ps(limit, amax));
    const __m128i sums0 = make_two(x, inverse, out.codes + at);
    const __m128i sums1 =
        make_two(x + 64, _mm512_permute_ps(inverse, 0b01'00'11'10), out.codes + at + 64);
    write_four(out, at / kQuantBlock, _mm_div_ps(amax, limit), sums0, sums1);
    return true;
  }

 private:
  // Returns the largest magnitudes of four blocks, in each quarter of the vector.
  static __m512i largest_of_four(const float* x) {
    __m512i m[4];
    for (size_t b = 0; b < 4; ++b) {
      m[b] = _mm512_max_epu32(magnitude(x + 32 * b), magnitude(x + 32 * b + 16));
    }
    const __m512i a =
        _mm512_max_epu32(_mm512_unpacklo_epi32(m[0], m[1]), _mm512_unpackhi_epi32(m[0], m[1]));
    const __m512i b =
        _mm512_max_epu32(_mm512_unpacklo_epi32(m[2], m[3]), _mm512_unpackhi_epi32(m[2], m[3]));
    __m512i c = _mm512_max_epu32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    c = _mm512_max_epu32(c, _mm512_shuffle_i32x4(c, c, 0b01'00'11'10));
    return _mm512_max_epu32(c, _mm512_shuffle_i32x4(c, c, 0b10'11'00'01));
  }

  // Makes the codes of two blocks, and returns the sums of their four halves. Each quarter of
  // `inverse` begins with the inverse scales of both blocks.
  static __m128i make_two(const float* x, __m512 inverse, int8_t* codes) {
    const __m512 inverses[2] = {_mm512_permute_ps(inverse, 0b00'00'00'00),
                                _mm512_permute_ps(inverse, 0b01'01'01'01)};
    __m512i rounded[4];
    for (size_t h = 0; h < 4; ++h) {
      rounded[h] = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16 * h), inverses[h / 2]));
    }
    // Quarter q holds codes [4q, 4q + 4) of each half.
    const __m512i quarters = _mm512_packs_epi16(_mm512_packs_epi32(rounded[0], rounded[1]),
                                                _mm512_packs_epi32(rounded[2], rounded[3]));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(codes, _mm512_permutexvar_epi32(order, quarters));
    const __m512i sums = _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_set1_epi8(1), quarters),
                                           _mm512_set1_epi16(1));
    const __m256i both =
        _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti32x8_epi32(sums, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  }

  // Does write_scale_and_sums() for four blocks, given the sums of their halves.
  static void write_four(const ActBuffer& out, size_t block, __m128 scale, __m128i sums0,
                         __m128i sums1) {
    const __m128i sum = _mm_hadd_epi32(sums0, sums1);
    _mm_storeu_ps(out.scale + block, scale);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.bias32 + block),
                     _mm_sub_epi32(_mm_setzero_si128(), _mm_slli_epi32(sum, 7)));
    _mm_storeu_ps(out.sum32 + block, _mm_mul_ps(scale, _mm_cvtepi32_ps(sum)));
    const __m256i halves = _mm256_set_m128i(sums1, sums0);
    const __m256 scales = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(scale),
                                                   _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.bias16 + 2 * block),
                        _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(halves, 7)));
    _mm256_storeu_ps(out.sum16 + 2 * block, _mm256_mul_ps(scales, _mm256_cvtepi32_ps(halves)));
  }
};

}  // namespace

void quantize_f32_avx512bw(const QuantizeArgs& args) { quantize_f32(args); }
void quantize_bf16_avx512bw(const QuantizeArgs& args) { quantize_bf16(args); }
void quantize_q8_avx512bw(const QuantizeArgs& args) { quantize_q8<Simd>(args); }

}  // namespace hearth
