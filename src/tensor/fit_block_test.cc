#include "tensor/fit_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace hearth {
namespace {

constexpr size_t kMost = 32;
constexpr int kTried =
    10000;  // scales, or scales and minima, that a block's best is searched among
constexpr int kTestBlocks = 1000;

// The squared error of n elements with the nearest codes.
double error_of(const float* x, size_t n, CodeRange range, ScaleAndMin of) {
  constexpr float kRounding = 0x1.8p23f;
  const auto low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  const float inverse = 1 / of.scale;
  float left[kMost];
  for (size_t i = 0; i < n; ++i) {
    float code = (x[i] + of.min) * inverse;
    code = code > low ? code : low;
    code = code < high ? code : high;
    code = (code + kRounding) - kRounding;
    left[i] = x[i] - (code * of.scale - of.min);
  }
  float sums[4] = {};
  for (size_t i = 0; i < n; i += 4) {
    for (size_t l = 0; l < 4; ++l) sums[l] += left[i + l] * left[i + l];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

struct Range {
  float least, most;
};
Range range_of(const float* x, size_t n) {
  return {std::min(0.0f, *std::min_element(x, x + n)), std::max(0.0f, *std::max_element(x, x + n))};
}

// Scales from half of what maps the largest element to the highest code to 1.6 of it, both signs.
double best_scale_error(const float* x, size_t n, CodeRange range) {
  const Range at = range_of(x, n);
  const float unit = std::max(at.most, -at.least) / static_cast<float>(range.high);
  double best = INFINITY;
  for (int i = 0; i < kTried / 2; ++i) {
    const float scale = unit * (0.5f + 1.1f * static_cast<float>(i) / (kTried / 2));
    best = std::min({best, error_of(x, n, range, {scale, 0}), error_of(x, n, range, {-scale, 0})});
  }
  return best;
}

// 100 scales from 0.6 to 1.1 of the range's, 100 minima up to a fifth of the range above the least.
double best_min_error(const float* x, int high) {
  const Range at = range_of(x, kMost);
  const float all = at.most - at.least;
  double best = INFINITY;
  for (int i = 0; i < kTried; ++i) {
    const auto s = static_cast<float>(i / 100), m = static_cast<float>(i % 100);
    const float scale = all / static_cast<float>(high) * (0.6f + 0.005f * s);
    const float min = std::max(0.0f, -at.least - 0.002f * m * all);
    best = std::min(best, error_of(x, kMost, {0, high}, {scale, min}));
  }
  return best;
}

std::vector<float> normal_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// 2 % are what the search of so few candidates may lose.
constexpr double kLoss = 1.02;

TEST(FitBlock, ScalesAreNearlyTheBestOfManyTried) {
  for (const auto& [range, n] : {std::pair{kCodes8, size_t{32}}, {kCodes6, 16}, {kCodes4, 32}}) {
    const std::vector<float> values = normal_values(kTestBlocks * n, 1);
    double found = 0, best = 0;
    for (const float* x = values.data(); x < values.data() + values.size(); x += n) {
      found += error_of(x, n, range, {fit_scale(x, n, range), 0});
      best += best_scale_error(x, n, range);
    }
    EXPECT_LE(found, kLoss * best) << range.high;
  }
}

TEST(FitBlock, ScalesAndMinimaAreNearlyTheBestOfManyTried) {
  for (const int high : {15, 31}) {
    const std::vector<float> values = normal_values(kTestBlocks * kMost, 2);
    double found = 0, best = 0;
    for (const float* x = values.data(); x < values.data() + values.size(); x += kMost) {
      const ScaleAndMin fitted = fit_scale_and_min(x, high);
      EXPECT_GE(fitted.min, 0);
      found += error_of(x, kMost, {0, high}, fitted);
      best += best_min_error(x, high);
    }
    EXPECT_LE(found, kLoss * best) << high;
  }
}

TEST(FitBlock, MinimaAreNotNegative) {
  std::vector<float> above(kMost), below(kMost);
  for (size_t i = 0; i < kMost; ++i) {
    above[i] = 2 + static_cast<float>(i) / kMost;
    below[i] = -above[i];
  }
  EXPECT_EQ(fit_scale_and_min(above.data(), 15).min, 0);
  EXPECT_NEAR(fit_scale_and_min(below.data(), 15).min, 3, 0.1);  // a step is 1 / 15
}

TEST(FitBlock, WhatCountsMoreIsNearer) {
  const std::vector<float> values = normal_values(kTestBlocks * kMost, 3);
  std::vector<float> weights(kMost, 1);
  weights[0] = weights[5] = 1000;
  double evenly = 0, weighted = 0;
  for (const float* x = values.data(); x < values.data() + values.size(); x += kMost) {
    for (const size_t i : {0, 5}) {
      auto error = [&](ScaleAndMin of, CodeRange range) {
        int8_t codes[kMost];
        nearest_codes(x, kMost, range, of, codes);
        return std::pow(x[i] - (static_cast<float>(codes[i]) * of.scale - of.min), 2);
      };
      evenly += error({fit_scale(x, kMost, kCodes4), 0}, kCodes4);
      evenly += error(fit_scale_and_min(x, 15), {0, 15});
      weighted += error({fit_scale(x, kMost, kCodes4, weights.data()), 0}, kCodes4);
      weighted += error(fit_scale_and_min(x, 15, weights.data()), {0, 15});
    }
  }
  EXPECT_LT(weighted, evenly / 4);
  // Equal weights weigh nothing.
  std::fill(weights.begin(), weights.end(), 3.0f);
  EXPECT_EQ(fit_scale(values.data(), kMost, kCodes8, weights.data()),
            fit_scale(values.data(), kMost, kCodes8));
}

TEST(FitBlock, DamagedBlocksHaveNoScale) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> values = normal_values(kMost, 4);
    values[7] = bad;
    EXPECT_TRUE(std::isnan(fit_scale(values.data(), kMost, kCodes8)));
    EXPECT_TRUE(std::isnan(fit_scale_and_min(values.data(), 15).scale));
  }
  const std::vector<float> zeros(kMost, 0.0f), tiny(kMost, 1e-40f);
  for (const std::vector<float>& none : {zeros, tiny}) {
    EXPECT_EQ(fit_scale(none.data(), kMost, kCodes4), 0);
    EXPECT_EQ(fit_scale_and_min(none.data(), 31).scale, 0);
  }
}

TEST(FitBlock, NearestCodes) {
  std::vector<float> values(16, 0.0f);
  values[0] = 1.3f;
  values[1] = -0.8f;
  values[2] = 100;
  values[3] = -100;
  values[4] = NAN;
  int8_t codes[16];
  nearest_codes(values.data(), 16, kCodes4, {0.5f, 0}, codes);
  EXPECT_EQ(std::vector<int8_t>(codes, codes + 6), (std::vector<int8_t>{3, -2, 7, -8, -8, 0}));
  nearest_codes(values.data(), 16, {0, 15}, {0.5f, 1}, codes);
  EXPECT_EQ(std::vector<int8_t>(codes, codes + 6), (std::vector<int8_t>{5, 0, 15, 0, 0, 2}));
  nearest_codes(values.data(), 16, kCodes4, {0, 0}, codes);
  EXPECT_EQ(codes[2], 0);
}

}  // namespace
}  // namespace hearth
