#include <immintrin.h>

#include "kernels/limits/limits_kernels.h"
#include "kernels/limits/read-inl.h"

#define HEARTH_REGISTER "+v"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 12 cycles with two instructions a cycle.
constexpr size_t kChains = 24;

}  // namespace

double ops_f32_fma_avx512bw(size_t rounds) {
  __m512 a = _mm512_set1_ps(0.5f);
  return chains<kChains>(rounds, _mm512_setzero_ps(), 32,
                         [a](__m512 x) { return _mm512_fmadd_ps(x, a, a); });
}

double ops_bf16_dot_avx512bw(size_t) { return 0; }

double ops_int8_dot_avx512bw(size_t rounds) {
  __m512i a = _mm512_set1_epi8(1), ones = _mm512_set1_epi16(1);
  // The products don't depend on the sum, so without keep() the compiler would compute them once,
  // before the loop.
  return chains<kChains>(rounds, _mm512_setzero_si512(), 128, [&a, ones](__m512i x) {
    keep(a);
    return _mm512_add_epi32(x, _mm512_madd_epi16(_mm512_maddubs_epi16(a, a), ones));
  });
}

double ops_int16_dot_avx512bw(size_t rounds) {
  __m512i a = _mm512_set1_epi16(1);
  return chains<kChains>(rounds, _mm512_setzero_si512(), 64, [&a](__m512i x) {
    keep(a);
    return _mm512_add_epi32(x, _mm512_madd_epi16(a, a));
  });
}

uint64_t read_avx512bw(const std::byte* p, size_t bytes) {
  __m512i x = _mm512_setzero_si512();
  read_streams(p, bytes,
               [&](const std::byte* q) { x = _mm512_xor_si512(x, _mm512_loadu_si512(q)); });
  uint64_t lanes[8];
  _mm512_storeu_si512(lanes, x);
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3] ^ lanes[4] ^ lanes[5] ^ lanes[6] ^ lanes[7];
}

}  // namespace hearth
