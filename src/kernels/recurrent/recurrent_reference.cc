#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/simd/exp.h"
#include "kernels/simd/sigmoid.h"

namespace hearth {
namespace {

float sum_of_squares(const float* x, uint32_t n) {
  std::array<float, 16> lanes{};
  for (uint32_t i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  for (uint32_t half = 8; half > 0; half /= 2) {
    for (uint32_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

float softplus(float x) {
  const float u = exp_nonpositive(-std::fabs(x)), s = u / (u + 2.0f);
  const float twice = s + s, square = s * s;
  float p = kLog1p[kLog1pDegree];
  for (int i = kLog1pDegree - 1; i >= 0; --i) p = std::fma(p, square, kLog1p[i]);
  return (x < 0 ? 0.0f : x) + std::fma(twice * square, p, twice);
}

// Returns the sum of factors[i] S[i] of a column, whose elements lie a tile's width apart.
float column_sum(const float* column, const float* factors, uint32_t length) {
  std::array<float, 4> chain{};
  for (uint32_t i = 0; i < length; ++i) {
    chain[i % 4] = std::fma(factors[i], column[size_t{i} * kStateTile], chain[i % 4]);
  }
  return (chain[0] + chain[2]) + (chain[1] + chain[3]);
}

// Updates a column of the state by row t, and returns its output.
float take_row(const DeltaRuleArgs& a, uint32_t t, float v, float* column) {
  const float *k = a.k + t * a.key_stride, *q = a.q + t * a.key_stride;
  const float decay = a.decay[t * a.gate_stride], beta = a.beta[t * a.gate_stride];
  const float e = std::fma(-decay, column_sum(column, k, a.length), v) * beta;
  for (uint32_t i = 0; i < a.length; ++i) {
    float& s = column[size_t{i} * kStateTile];
    s = std::fma(k[i], e, decay * s);
  }
  return column_sum(column, q, a.length) * a.scale;
}

// Returns input `row` of channel c. Rows below 0 are those of the state.
float conv_input(const ShortConvArgs& a, int64_t row, uint32_t c) {
  if (row >= 0) return a.x[static_cast<size_t>(row) * a.x_stride + c];
  if (a.from == nullptr) return 0.0f;
  return a.from[static_cast<size_t>(row + a.taps - 1) * a.state_stride + c];
}

}  // namespace

void short_conv_reference(const ShortConvArgs& a) {
  const int64_t before = static_cast<int64_t>(a.taps) - 1;
  for (uint32_t c = 0; c < a.channels; ++c) {
    for (int64_t t = 0; t < a.rows; ++t) {
      float y = a.weight[c] * conv_input(a, t - before, c);
      for (uint32_t j = 1; j < a.taps; ++j) {
        y = std::fma(a.weight[j * a.weight_stride + c], conv_input(a, t - before + j, c), y);
      }
      a.out[static_cast<size_t>(t) * a.out_stride + c] =
          (y < kGateFloor ? kGateFloor : y) * sigmoid(y);
    }
    for (int64_t i = 0; i < before; ++i) {
      a.to[static_cast<size_t>(i) * a.state_stride + c] = conv_input(a, a.rows + i - before, c);
    }
  }
}

void delta_rule_reference(const DeltaRuleArgs& a) {
  for (uint32_t c = 0; c < a.columns; ++c) {
    const size_t first = c / kStateTile * kStateTile * size_t{a.length} + c % kStateTile;
    float* column = a.to + first;
    for (uint32_t i = 0; i < a.length; ++i) {
      const size_t element = size_t{i} * kStateTile;
      column[element] = a.from == nullptr ? 0.0f : a.from[first + element];
    }
    for (uint32_t t = 0; t < a.rows; ++t) {
      a.out[t * a.out_stride + c] = take_row(a, t, a.v[t * a.value_stride + c], column);
    }
  }
}

void delta_gates_reference(const DeltaGatesArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    const float decay = exp_nonpositive(a.rate[i] * softplus(a.alpha[i] + a.bias[i]));
    a.strength[i] = sigmoid(a.beta[i]);
    a.decay[i] = decay;
  }
}

void unit_norm_reference(const UnitNormArgs& a) {
  const float norm = std::sqrt(sum_of_squares(a.x, a.n));
  float r = 1.0f / (norm < a.eps ? a.eps : norm);
  if (!(r > 0)) r = std::numeric_limits<float>::quiet_NaN();
  for (uint32_t i = 0; i < a.n; ++i) a.out[i] = a.x[i] * r;
}

void gated_norm_reference(const GatedNormArgs& a) {
  std::vector<float> normed(a.n);
  rms_norm_reference({a.x, a.weight, a.n, a.eps, normed.data()});
  silu_mul_reference({a.gate, normed.data(), a.n, a.out});
}

void sigmoid_mul_reference(const SigmoidMulArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) a.out[i] = a.x[i] * sigmoid(a.gate[i]);
}

}  // namespace hearth
