#include <cmath>

#include "kernels/kernels.h"

namespace hearth {

void rope_reference(const RopeArgs& a) {
  uint32_t pairs = a.n_rot / 2;
  bool interleaved = a.layout == RopeLayout::kInterleaved;
  for (uint32_t i = 0; i < pairs; ++i) {
    float& x0 = interleaved ? a.x[2 * i] : a.x[i];
    float& x1 = interleaved ? a.x[2 * i + 1] : a.x[i + pairs];
    float y0 = std::fma(x0, a.cos[i], -(x1 * a.sin[i]));
    float y1 = std::fma(x0, a.sin[i], x1 * a.cos[i]);
    x0 = y0;
    x1 = y1;
  }
}

}  // namespace hearth
