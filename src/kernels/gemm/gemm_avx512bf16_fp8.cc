// AVX-512 kernels of kFP8 and kFP8R (gemm_fp8-inl.h): codes become bf16, then vdpbf16ps.
#include <cstring>

#include "kernels/gemm/gemm_avx512_fp8-inl.h"

namespace hearth {
namespace {

// A tile has several panels, since a single chain of vdpbf16ps would be bound by its latency.
struct Fp8Shape {
  static constexpr int kWideRows = 3, kWidePanels = kGemmStreams;
  static constexpr int kFewRows = 8, kPanels = 2;
  static constexpr int kTileRows = 12;
};

struct Bf16Pair {
  __m512i x;
};
inline Bf16Pair bf16_pairs(Codes c) { return {c.x}; }
inline Bf16Pair all_bf16_pair(const bf16_t* p) {
  int32_t two;
  std::memcpy(&two, p, sizeof two);
  return {_mm512_set1_epi32(two)};
}
inline Vec16 add_pairs(Bf16Pair w, Bf16Pair x, Vec16 acc) {
  return {
      _mm512_dpbf16_ps(acc.x, reinterpret_cast<__m512bh>(w.x), reinterpret_cast<__m512bh>(x.x))};
}

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_fp8_pairs-inl.h"

// This header needs the sums above.
#include "kernels/gemm/gemm_fp8-inl.h"

namespace hearth {

constinit const GemmMenu menu_fp8_avx512bf16 = kFp8Menu;
constinit const GemmMenu menu_fp8_rows_avx512bf16 = kFp8Menu;

void gemm_fp8_avx512bf16(const GemmArgs& args) { gemm_fp8<SharedFp8Scale>(args); }
void gemm_fp8_rows_avx512bf16(const GemmArgs& args) { gemm_fp8<OwnFp8Scales>(args); }

}  // namespace hearth
