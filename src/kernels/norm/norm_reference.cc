#include <array>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace hearth {
namespace {

float sum_by_halves(std::array<float, 16> lanes) {
  for (uint32_t half = 8; half > 0; half /= 2) {
    for (uint32_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// r of a row; NaN where the sum of squares is not finite.
float row_scale(const std::array<float, 16>& squares, uint32_t n, float eps) {
  float r = 1.0f / std::sqrt(sum_by_halves(squares) / static_cast<float>(n) + eps);
  return r > 0 ? r : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

void rms_norm_reference(const RmsNormArgs& a) {
  std::array<float, 16> squares{};
  for (uint32_t i = 0; i < a.n; ++i) squares[i % 16] = std::fma(a.x[i], a.x[i], squares[i % 16]);
  float r = row_scale(squares, a.n, a.eps);
  for (uint32_t i = 0; i < a.n; ++i) a.out[i] = (a.x[i] * r) * a.weight[i];
}

void layer_norm_reference(const LayerNormArgs& a) {
  std::array<float, 16> sums{}, squares{};
  for (uint32_t i = 0; i < a.n; ++i) sums[i % 16] += a.x[i];
  float mean = sum_by_halves(sums) / static_cast<float>(a.n);
  for (uint32_t i = 0; i < a.n; ++i) {
    float d = a.x[i] - mean;
    squares[i % 16] = std::fma(d, d, squares[i % 16]);
  }
  float r = row_scale(squares, a.n, a.eps);
  for (uint32_t i = 0; i < a.n; ++i) {
    float scaled = (a.x[i] - mean) * r;
    a.out[i] = a.bias ? std::fma(scaled, a.weight[i], a.bias[i]) : scaled * a.weight[i];
  }
}

}  // namespace hearth
