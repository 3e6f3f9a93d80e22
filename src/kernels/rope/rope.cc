#include "kernels/rope/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace hearth {
namespace {

void check_params(const RopeParams& p) {
  if (p.n_rot % 2 != 0) {
    fail(ErrorCode::kFile, "the model rotates {} dimensions of a head: RoPE needs an even number",
         p.n_rot);
  }
  if (!(p.freq_base > 1) || !std::isfinite(p.freq_base)) {
    fail(ErrorCode::kFile, "the model's RoPE frequency base is {}: it must be above 1",
         p.freq_base);
  }
  if (!(p.factor > 0) || !std::isfinite(p.factor)) {
    fail(ErrorCode::kFile, "the model's RoPE scaling factor is {}: it must be positive", p.factor);
  }
  if (p.scaling == RopeScaling::kYarn && !(p.original_context > 0)) {
    fail(ErrorCode::kFile,
         "the model asks for YaRN with an original context length of {}: it must be positive",
         p.original_context);
  }
  if (!p.freq_factors.empty() && p.freq_factors.size() != p.n_rot / 2) {
    fail(ErrorCode::kFile,
         "the model has {} RoPE frequency factors for {} rotated dimensions: it "
         "must have half as many",
         p.freq_factors.size(), p.n_rot);
  }
  for (float factor : p.freq_factors) {
    if (!(factor > 0) || !std::isfinite(factor)) {
      fail(ErrorCode::kFile, "the model has a RoPE frequency factor of {}: it must be positive",
           factor);
    }
  }
}

// Returns the pair, as a real number, that turns `rotations` times within the original context.
double pair_of_rotations(const RopeParams& p, double rotations) {
  return p.n_rot * std::log(p.original_context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(p.freq_base));
}

// Returns the share of pair i's trained frequency in YaRN's mix: 1 keeps that frequency, 0 divides
// it by the factor.
double yarn_extrapolation(const RopeParams& p, uint32_t i) {
  double low = pair_of_rotations(p, p.yarn_beta_fast);
  double high = pair_of_rotations(p, p.yarn_beta_slow);
  if (p.yarn_whole_pairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(p.n_rot - 1.0, high);
  double ramp = (i - low) / std::max(0.001, high - low);
  return (1 - std::clamp(ramp, 0.0, 1.0)) * p.yarn_ext_factor;
}

}  // namespace

RopeTable make_rope_table(const RopeParams& params, uint32_t context) {
  check_params(params);
  const bool is_short = !params.short_factors.empty() && context <= params.original_context;
  const std::vector<float>& factors = is_short ? params.short_factors : params.freq_factors;
  RopeTable table{std::vector<double>(params.n_rot / 2), params.yarn_attn_factor};
  for (uint32_t i = 0; i < params.n_rot / 2; ++i) {
    double frequency = std::pow(params.freq_base, -2.0 * i / params.n_rot);
    if (!factors.empty()) frequency /= static_cast<double>(factors[i]);
    double interpolated = frequency / params.factor;
    if (params.scaling == RopeScaling::kLinear) frequency = interpolated;
    if (params.scaling == RopeScaling::kYarn) {
      double kept = yarn_extrapolation(params, i);
      frequency = interpolated * (1 - kept) + frequency * kept;
    }
    table.inverse_frequency[i] = frequency;
  }
  if (params.scaling == RopeScaling::kYarn) {
    double growth = params.yarn_ext_factor != 0 ? params.yarn_growth : 0;
    table.magnitude *= 1 + growth * std::log(params.factor);
  }
  return table;
}

void rope_angles(const RopeTable& table, uint32_t position, float* cos, float* sin) {
  for (size_t i = 0; i < table.inverse_frequency.size(); ++i) {
    double angle = position * table.inverse_frequency[i];
    cos[i] = static_cast<float>(std::cos(angle) * table.magnitude);
    sin[i] = static_cast<float>(std::sin(angle) * table.magnitude);
  }
}

}  // namespace hearth
