// AVX-VNNI kernels of the quantised pack kinds: those of AVX2 with vpdpbusd, which takes the
// unsigned codes of every kind as they are and adds to 32 bits.
#include "kernels/gemm/gemm_avx2-inl.h"

namespace hearth {
namespace {

// The twelve integer sums of six rows hide the latency of vpdpbusd. The float sums lie in L1 while
// a block is added up.
constexpr uint32_t kInt8TileRows = 6;
constexpr int kInt8Panels = 4;

struct Dots : OneRow {
  static constexpr int kAtOnce = 1;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();

  static Codes prepare(const Codes (&c)[1]) { return c[0]; }
  static __m256i load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return load_four(x[0] + 4 * g[0]);
  }
  void add(const Codes& w, __m256i x) {
    a = _mm256_dpbusd_avx_epi32(a, w.a, x);
    b = _mm256_dpbusd_avx_epi32(b, w.b, x);
  }
  Vec16 sum(int, int32_t offset) const { return to_float(a, b, offset); }
};

template <int Bits, int Rows>
using DotsFor = Dots;

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_int8-inl.h"

namespace hearth {

HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE_INT8_GEMM, avxvnni)

}  // namespace hearth
