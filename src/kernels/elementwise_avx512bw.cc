#include "kernels/simd/vec16_avx512-inl.h"

// The header below needs Vec16 before it.
#include "kernels/elementwise-inl.h"

namespace hearth {

HEARTH_ELEMENTWISE_KERNELS(HEARTH_DEFINE_ELEMENTWISE, avx512bw)

}  // namespace hearth
