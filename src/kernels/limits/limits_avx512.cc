#include <immintrin.h>

#include "kernels/limits/limits_kernels.h"

#define HEARTH_REGISTER "+v"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 12 cycles with two instructions a cycle.
constexpr size_t kChains = 24;

}  // namespace

double ops_int8_dot_avx512(size_t rounds) {
  __m512i a = _mm512_set1_epi8(1);
  return chains<kChains>(rounds, _mm512_setzero_si512(), 128,
                         [a](__m512i x) { return _mm512_dpbusd_epi32(x, a, a); });
}

double ops_int16_dot_avx512(size_t rounds) {
  __m512i a = _mm512_set1_epi16(1);
  return chains<kChains>(rounds, _mm512_setzero_si512(), 64,
                         [a](__m512i x) { return _mm512_dpwssd_epi32(x, a, a); });
}

}  // namespace hearth
