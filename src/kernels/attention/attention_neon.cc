#include "kernels/simd/vec16_neon-inl.h"

// After Vec16, which it is written over.
#include "kernels/attention/attention_level-inl.h"

namespace hearth {

HEARTH_DEFINE_ATTENTION(neon, 1)

}  // namespace hearth
