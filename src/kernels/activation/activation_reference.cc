#include <cmath>

#include "kernels/activation/gelu.h"
#include "kernels/kernels.h"
#include "kernels/simd/exp.h"

namespace hearth {
namespace {

float gelu(float g) {
  const float below = -std::fabs(g);
  const float n = below < -kGeluEnd ? -kGeluEnd : below;
  float p = kGelu[kGeluDegree];
  for (int k = kGeluDegree - 1; k >= 0; --k) p = std::fma(p, n, kGelu[k]);
  const float tail = below < -kGeluEnd ? 0.0f : exp_nonpositive(p);
  return std::fma(n, tail, g < 0 ? 0.0f : g);
}

}  // namespace

void silu_mul_reference(const SiluMulArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    float g = a.gate[i];
    float e = exp_nonpositive(-std::fabs(g));
    float sigmoid = (g < 0 ? e : 1.0f) / (1.0f + e);
    float silu = (g < kSiluFloor ? kSiluFloor : g) * sigmoid;
    a.out[i] = silu * a.up[i];
  }
}

void gelu_reference(const GeluArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    const float y = gelu(a.bias == nullptr ? a.x[i] : a.x[i] + a.bias[i]);
    a.out[i] = a.up == nullptr ? y : y * a.up[i];
  }
}

}  // namespace hearth
