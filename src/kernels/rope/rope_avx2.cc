#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_avx2-inl.h"

// The header below needs Vec16 before it.
#include "kernels/rope/rope-inl.h"

namespace hearth {

void rope_avx2(const RopeArgs& a) { rope(a); }

}  // namespace hearth
