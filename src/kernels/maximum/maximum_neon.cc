#include "kernels/elementwise_kernels.h"
#include "kernels/simd/vec16_neon-inl.h"

// The header below needs Vec16 before it.
#include "kernels/maximum/maximum-inl.h"

namespace hearth {

void panel_maxima_neon(const PanelMaximaArgs& a) { panel_maxima(a); }

}  // namespace hearth
