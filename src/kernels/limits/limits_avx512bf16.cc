#include <immintrin.h>

#include "kernels/limits/limits_kernels.h"

#define HEARTH_REGISTER "+v"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 12 cycles with two instructions a cycle.
constexpr size_t kChains = 24;

}  // namespace

double ops_bf16_dot_avx512bf16(size_t rounds) {
  auto a = reinterpret_cast<__m512bh>(_mm512_setzero_si512());
  return chains<kChains>(rounds, _mm512_setzero_ps(), 64,
                         [a](__m512 x) { return _mm512_dpbf16_ps(x, a, a); });
}

}  // namespace hearth
