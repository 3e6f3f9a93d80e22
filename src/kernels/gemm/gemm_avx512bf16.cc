// BF16 by vdpbf16ps, which takes two elements of K at a time, in the tiles of
// gemm_avx512_float-inl.h.
#include "kernels/gemm/gemm_avx512_float-inl.h"
#include "kernels/gemm/gemm_kernels.h"

namespace hearth {
namespace {

struct KindBF16 {
  static constexpr size_t kStep = 2;
  static constexpr size_t kStepBytes = 64;
  using Element = bf16_t;
  using Register = __m512i;

  static Register load(const std::byte* codes) { return load_codes(codes); }
  static Register broadcast(const bf16_t* x) { return broadcast4(x); }
  static __m512 add(__m512 acc, Register w, Register x) {
    return _mm512_dpbf16_ps(acc, reinterpret_cast<__m512bh>(w), reinterpret_cast<__m512bh>(x));
  }
  static const bf16_t* elements(const ActView& a) { return a.bf16; }
};

}  // namespace

constinit const GemmMenu menu_bf16_avx512bf16 = kMenu<KindBF16>;
void gemm_bf16_avx512bf16(const GemmArgs& args) { gemm<KindBF16>(args); }

}  // namespace hearth
