#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_avx2-inl.h"

// The header below needs Vec16 before it.
#include "kernels/activation/activation-inl.h"

namespace hearth {

void silu_mul_avx2(const SiluMulArgs& a) { silu_mul(a); }

}  // namespace hearth
