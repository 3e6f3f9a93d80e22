#include <cmath>

#include "kernels/activation/gelu.h"
#include "kernels/kernels.h"
#include "kernels/simd/exp.h"
#include "kernels/simd/sigmoid.h"

namespace hearth {
namespace {

// Returns g sigmoid(t).
float times_sigmoid(float g, float t) { return (g < kGateFloor ? kGateFloor : g) * sigmoid(t); }

float gelu(float g) {
  const float below = -std::fabs(g);
  const float n = below < -kGeluEnd ? -kGeluEnd : below;
  float p = kGelu[kGeluDegree];
  for (int k = kGeluDegree - 1; k >= 0; --k) p = std::fma(p, n, kGelu[k]);
  const float tail = below < -kGeluEnd ? 0.0f : exp_nonpositive(p);
  return std::fma(n, tail, g < 0 ? 0.0f : g);
}

float gelu_tanh(float g) {
  return times_sigmoid(g, g * std::fma(kGeluTanhCubic, g * g, kGeluTanhLinear));
}

void gelu_by(float (*curve)(float), const GeluArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    const float y = curve(a.bias == nullptr ? a.x[i] : a.x[i] + a.bias[i]);
    a.out[i] = a.up == nullptr ? y : y * a.up[i];
  }
}

}  // namespace

void silu_mul_reference(const SiluMulArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    a.out[i] = times_sigmoid(a.gate[i], a.gate[i]) * a.up[i];
  }
}

void clamped_swiglu_reference(const SiluMulArgs& a) {
  for (uint32_t i = 0; i < a.n; ++i) {
    const float g = a.gate[i] > kSwigluLimit ? kSwigluLimit : a.gate[i];
    const float low = a.up[i] < -kSwigluLimit ? -kSwigluLimit : a.up[i];
    const float u = low > kSwigluLimit ? kSwigluLimit : low;
    a.out[i] = times_sigmoid(g, kSwigluAlpha * g) * (u + 1.0f);
  }
}

void gelu_reference(const GeluArgs& a) { gelu_by(gelu, a); }

void gelu_tanh_reference(const GeluArgs& a) { gelu_by(gelu_tanh, a); }

void soft_cap_reference(const SoftCapArgs& a) {
  const float by = 2.0f / a.cap, twice = 2.0f * a.cap;
  for (uint32_t i = 0; i < a.n; ++i) a.out[i] = std::fma(twice, sigmoid(a.x[i] * by), -a.cap);
}

}  // namespace hearth
