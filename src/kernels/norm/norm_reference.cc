#include <array>
#include <cmath>

#include "kernels/elementwise_kernels.h"

namespace hearth {

void rms_norm_reference(const RmsNormArgs& a) {
  std::array<float, 16> squares{};
  for (uint32_t i = 0; i < a.n; ++i) squares[i % 16] = std::fma(a.x[i], a.x[i], squares[i % 16]);
  for (uint32_t half = 8; half > 0; half /= 2) {
    for (uint32_t l = 0; l < half; ++l) squares[l] += squares[l + half];
  }
  float r = 1.0f / std::sqrt(squares[0] / static_cast<float>(a.n) + a.eps);
  for (uint32_t i = 0; i < a.n; ++i) a.out[i] = (a.x[i] * r) * a.weight[i];
}

}  // namespace hearth
