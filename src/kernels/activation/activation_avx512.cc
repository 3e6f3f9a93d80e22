#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_avx512-inl.h"

// After Vec16, which it is written over.
#include "kernels/activation/activation-inl.h"

namespace hearth {

void silu_mul_avx512(const SiluMulArgs& a) { silu_mul(a); }

}  // namespace hearth
