#include "kernels/simd/vec16_avx2-inl.h"

// The header below needs Vec16 before it.
#include "kernels/elementwise-inl.h"

namespace hearth {

HEARTH_ELEMENTWISE_KERNELS(HEARTH_DEFINE_ELEMENTWISE, avx2)

}  // namespace hearth
