// Norms of a row, with the same bits on every ISA level. All sums over a row have the same order:
// lane l = i % 16 has a chain over ascending i, then the 16 lanes are added by halves (l + l+8,
// then + l+4, + l+2, + l+1).
//
// RMS norm (Zhang and Sennrich 2019): out[i] = (x[i] * r) * weight[i], r = 1 / sqrt(ss / n + eps).
// ss is the sum of squares; its chains are of fma(x, x, ss).
//
// Layer norm (Ba, Kiros and Hinton 2016) reads the row three times. The first pass adds up x, and
// mean = sum / n. The second pass gives ss, the sum of squares of d = x[i] - mean, which is
// rounded; its chains are of fma(d, d, ss). r is as above. The third pass gives out[i] = fma(d * r,
// weight[i], bias[i]), or (d * r) * weight[i] without a bias.
//
// A row may also be normed in parts, its heads, which may lie anywhere in memory (Chan, Golub and
// LeVeque 1983). head_moments gives mean and ss of a head, as above; for an RMS norm the mean is 0
// and ss the sum of squares. row_scale_of merges these in the order of the heads. It adds up the
// heads' means in one chain, and mean = sum / heads. Then ss = fma(length * d, d, ss + ss_h) for
// each head, with d = mean_h - mean, where d, the product and the sum are rounded. r is as above
// with the n of all heads. norm_by gives out[i] as a layer norm does.
//
// A row whose ss overflows binary32 (|x| above 10^18) becomes NaN, all of it: r would be 0, and the
// row would be zeros that look like a result. A row with an infinity or a NaN becomes NaN, too.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace hearth {

struct RmsNormArgs {
  const float* x;       // [n]
  const float* weight;  // [n]
  uint32_t n;
  float eps;
  float* out;  // [n], may be x
};

struct LayerNormArgs {
  const float* x;       // [n]
  const float* weight;  // [n]
  const float* bias;    // [n] or null
  uint32_t n;
  float eps;
  float* out;  // [n], may be x
};

struct HeadMoments {
  float mean, squares;
};

struct HeadMomentsArgs {
  const float* x;  // [n]
  uint32_t n;
  bool centred;  // false: the mean counts as 0
  HeadMoments* out;
};

struct NormByArgs {
  const float* x;       // [n]
  const float* weight;  // [n]
  const float* bias;    // [n] or null
  uint32_t n;
  float mean, r;
  float* out;  // [n], may be x
};

struct RowScale {
  float mean, r;
};

// Merges the moments of heads: moments(h) returns the HeadMoments of head h, of `length` elements.
// It is a template, since ISA files include this.
template <typename MomentsOf>
RowScale row_scale_of(uint32_t heads, uint32_t length, float eps,
                      const MomentsOf& moments) noexcept {
  float mean = 0, squares = 0;
  for (uint32_t h = 0; h < heads; ++h) mean += moments(h).mean;
  mean /= static_cast<float>(heads);
  for (uint32_t h = 0; h < heads; ++h) {
    const HeadMoments of_head = moments(h);
    const float d = of_head.mean - mean;
    squares = std::fma(static_cast<float>(length) * d, d, squares + of_head.squares);
  }
  const float r = 1.0f / std::sqrt(squares / static_cast<float>(heads * length) + eps);
  return {mean, r > 0 ? r : std::numeric_limits<float>::quiet_NaN()};
}

}  // namespace hearth
