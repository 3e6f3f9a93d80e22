#include <immintrin.h>

#include "kernels/limits/limits_kernels.h"
#include "kernels/limits/read-inl.h"

#define HEARTH_REGISTER "+x"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 5 cycles with two instructions a cycle, and few enough
// to stay in 16 registers.
constexpr size_t kChains = 12;

}  // namespace

double ops_f32_fma_avx2(size_t rounds) {
  __m256 a = _mm256_set1_ps(0.5f);
  return chains<kChains>(rounds, _mm256_setzero_ps(), 16,
                         [a](__m256 x) { return _mm256_fmadd_ps(x, a, a); });
}

double ops_bf16_dot_avx2(size_t) { return 0; }

double ops_int8_dot_avx2(size_t rounds) {
  __m256i a = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  // The products don't depend on the sum, so without keep() the compiler would compute them once,
  // before the loop.
  return chains<kChains>(rounds, _mm256_setzero_si256(), 64, [&a, ones](__m256i x) {
    keep(a);
    return _mm256_add_epi32(x, _mm256_madd_epi16(_mm256_maddubs_epi16(a, a), ones));
  });
}

double ops_int16_dot_avx2(size_t rounds) {
  __m256i a = _mm256_set1_epi16(1);
  return chains<kChains>(rounds, _mm256_setzero_si256(), 32, [&a](__m256i x) {
    keep(a);
    return _mm256_add_epi32(x, _mm256_madd_epi16(a, a));
  });
}

uint64_t read_avx2(const std::byte* p, size_t bytes) {
  __m256i low = _mm256_setzero_si256(), high = low;
  read_streams(p, bytes, [&](const std::byte* q) {
    const auto* line = reinterpret_cast<const __m256i*>(q);
    low = _mm256_xor_si256(low, _mm256_loadu_si256(line));
    high = _mm256_xor_si256(high, _mm256_loadu_si256(line + 1));
  });
  uint64_t lanes[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), _mm256_xor_si256(low, high));
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
}

}  // namespace hearth
