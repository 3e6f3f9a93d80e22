#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_avx512-inl.h"

// After Vec16, which it is written over.
#include "kernels/norm/norm-inl.h"

namespace hearth {

void rms_norm_avx512(const RmsNormArgs& a) { rms_norm(a); }

void layer_norm_avx512(const LayerNormArgs& a) { layer_norm(a); }

}  // namespace hearth
