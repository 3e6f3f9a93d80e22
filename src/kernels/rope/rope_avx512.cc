#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_avx512-inl.h"

// After Vec16, which it is written over.
#include "kernels/rope/rope-inl.h"

namespace hearth {

void rope_avx512(const RopeArgs& a) { rope(a); }

}  // namespace hearth
