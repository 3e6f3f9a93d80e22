#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_avx2-inl.h"

// The header below needs Vec16 before it.
#include "kernels/maximum/maximum-inl.h"

namespace hearth {

void panel_maxima_avx2(const PanelMaximaArgs& a) { panel_maxima(a); }

}  // namespace hearth
