#include "kernels/simd/vec16_avx2-inl.h"

// After Vec16, which it is written over.
#include "kernels/attention/attention_level-inl.h"

namespace hearth {

HEARTH_DEFINE_DOT_ATTENTION(avxvnni, 1)

}  // namespace hearth
