#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace hearth {

void panel_maxima_reference(const PanelMaximaArgs& a) {
  for (uint32_t p = 0; p < a.panels; ++p) {
    const float* x = a.x + p * 16;
    bool finite = std::all_of(x, x + 16, [](float f) { return std::isfinite(f); });
    a.out[p] = finite ? *std::max_element(x, x + 16) : std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace hearth
