#include "kernels/simd/vec16_avx512-inl.h"

// After Vec16, which it is written over.
#include "kernels/attention/attention_level-inl.h"

namespace hearth {

HEARTH_DEFINE_DOT_ATTENTION(avx512, 4)

}  // namespace hearth
