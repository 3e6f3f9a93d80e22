#include "kernels/simd/vec16_neon-inl.h"

// This header is written over Vec16, so it comes behind it.
#include "kernels/attention/attention_level-inl.h"

namespace hearth {

HEARTH_DEFINE_ATTENTION(neon, 1)

}  // namespace hearth
