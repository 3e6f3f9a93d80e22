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

// Returns the factor r of a row (norm.h); NaN if the sum of squares is not finite.
float row_scale(const std::array<float, 16>& squares, uint32_t n, float eps) {
  float r = 1.0f / std::sqrt(sum_by_halves(squares) / static_cast<float>(n) + eps);
  return r > 0 ? r : std::numeric_limits<float>::quiet_NaN();
}

float mean_of(const float* x, uint32_t n) {
  std::array<float, 16> sums{};
  for (uint32_t i = 0; i < n; ++i) sums[i % 16] += x[i];
  return sum_by_halves(sums) / static_cast<float>(n);
}

std::array<float, 16> squares_of(const float* x, uint32_t n, float mean) {
  std::array<float, 16> squares{};
  for (uint32_t i = 0; i < n; ++i) {
    const float d = x[i] - mean;
    squares[i % 16] = std::fma(d, d, squares[i % 16]);
  }
  return squares;
}

}  // namespace

void rms_norm_reference(const RmsNormArgs& a) {
  std::array<float, 16> squares{};
  for (uint32_t i = 0; i < a.n; ++i) squares[i % 16] = std::fma(a.x[i], a.x[i], squares[i % 16]);
  float r = row_scale(squares, a.n, a.eps);
  for (uint32_t i = 0; i < a.n; ++i) a.out[i] = (a.x[i] * r) * a.weight[i];
}

void layer_norm_reference(const LayerNormArgs& a) {
  const float mean = mean_of(a.x, a.n);
  const float r = row_scale(squares_of(a.x, a.n, mean), a.n, a.eps);
  norm_by_reference({a.x, a.weight, a.bias, a.n, mean, r, a.out});
}

void head_moments_reference(const HeadMomentsArgs& a) {
  const float mean = a.centred ? mean_of(a.x, a.n) : 0;
  *a.out = {mean, sum_by_halves(squares_of(a.x, a.n, mean))};
}

void norm_by_reference(const NormByArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    const float scaled = (a.x[i] - a.mean) * a.r;
    a.out[i] = a.bias ? std::fma(scaled, a.weight[i], a.bias[i]) : scaled * a.weight[i];
  }
}

}  // namespace hearth
