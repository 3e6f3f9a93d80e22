#include <immintrin.h>

#include "kernels/limits/limits_kernels.h"

#define HEARTH_REGISTER "+x"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 5 cycles with two instructions a cycle, and few enough
// to stay in 16 registers.
constexpr size_t kChains = 12;

}  // namespace

double ops_int8_dot_avxvnni(size_t rounds) {
  __m256i a = _mm256_set1_epi8(1);
  return chains<kChains>(rounds, _mm256_setzero_si256(), 64,
                         [a](__m256i x) { return _mm256_dpbusd_avx_epi32(x, a, a); });
}

double ops_int16_dot_avxvnni(size_t rounds) {
  __m256i a = _mm256_set1_epi16(1);
  return chains<kChains>(rounds, _mm256_setzero_si256(), 32,
                         [a](__m256i x) { return _mm256_dpwssd_avx_epi32(x, a, a); });
}

}  // namespace hearth
