#include <cmath>

#include "kernels/elementwise_kernels.h"
#include "kernels/simd/exp.h"

namespace hearth {

void silu_mul_reference(const SiluMulArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    float g = a.gate[i];
    float e = exp_nonpositive(-std::fabs(g));
    float sigmoid = (g < 0 ? e : 1.0f) / (1.0f + e);
    float silu = (g < kSiluFloor ? kSiluFloor : g) * sigmoid;
    a.out[i] = silu * a.up[i];
  }
}

}  // namespace hearth
