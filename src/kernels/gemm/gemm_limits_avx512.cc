#include <immintrin.h>

#include <utility>

#include "kernels/gemm/gemm_limits.h"

namespace hearth {
namespace {

template <typename Register>
inline void keep(Register& x) {
  __asm__ volatile("" : "+v"(x));
}

// 24 independent chains: enough for a latency of 12 at two a cycle. The empty asm keeps the
// compiler from folding what doesn't change.
template <typename Register, typename Step, size_t... I>
void chains(size_t rounds, Register start, Step step, std::index_sequence<I...>) {
  Register acc[] = {(static_cast<void>(I), start)...};
  for (size_t i = 0; i < rounds; ++i) {
    ((acc[I] = step(acc[I])), ...);
    (keep(acc[I]), ...);
  }
}

using Chains = std::make_index_sequence<24>;

}  // namespace

double int8_ops_avx512(size_t rounds) {
  __m512i a = _mm512_set1_epi8(1);
  chains(
      rounds, _mm512_setzero_si512(), [a](__m512i x) { return _mm512_dpbusd_epi32(x, a, a); },
      Chains());
  return static_cast<double>(rounds) * Chains::size() * 128;
}

double bf16_ops_avx512(size_t rounds) {
  auto a = reinterpret_cast<__m512bh>(_mm512_setzero_si512());
  chains(
      rounds, _mm512_setzero_ps(), [a](__m512 x) { return _mm512_dpbf16_ps(x, a, a); }, Chains());
  return static_cast<double>(rounds) * Chains::size() * 64;
}

double f32_ops_avx512(size_t rounds) {
  __m512 a = _mm512_set1_ps(0.5f);
  chains(
      rounds, _mm512_setzero_ps(), [a](__m512 x) { return _mm512_fmadd_ps(x, a, a); }, Chains());
  return static_cast<double>(rounds) * Chains::size() * 32;
}

uint64_t read_avx512(const std::byte* p, size_t bytes) {
  __m512i x[4] = {};
  for (size_t i = 0; i + 256 <= bytes; i += 256) {
    for (size_t j = 0; j < 4; ++j) {
      _mm_prefetch(reinterpret_cast<const char*>(p + i + 64 * j + 4096), _MM_HINT_T0);
      x[j] = _mm512_xor_si512(x[j], _mm512_loadu_si512(p + i + 64 * j));
    }
  }
  uint64_t lanes[8];
  _mm512_storeu_si512(lanes,
                      _mm512_xor_si512(_mm512_xor_si512(x[0], x[1]), _mm512_xor_si512(x[2], x[3])));
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3] ^ lanes[4] ^ lanes[5] ^ lanes[6] ^ lanes[7];
}

}  // namespace hearth
