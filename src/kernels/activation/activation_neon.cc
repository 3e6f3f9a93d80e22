#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_neon-inl.h"

// The header below needs Vec16 before it.
#include "kernels/activation/activation-inl.h"

namespace hearth {

void silu_mul_neon(const SiluMulArgs& a) { silu_mul(a); }

}  // namespace hearth
