#include "tensor/fit_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace hearth {
namespace {

constexpr size_t kMax = 32;
// The number of scales, or pairs of scale and minimum, that the test tries for each block.
constexpr int kTried = 10000;
constexpr int kTestBlocks = 1000;

constexpr CodeKind kKinds[] = {kCodes8, kCodes6, kCodes4, kMinCodes5, kMinCodes4};

// Fits blocks with the fastest level of this processor.
std::vector<ScaleAndMin> fit_all(const CodeKind& kind, const std::vector<float>& x,
                                 const float* weights = nullptr) {
  std::vector<ScaleAndMin> fitted(x.size() / kind.elements);
  fit_levels().back()->fit(kind, x.data(), fitted.size(), weights, fitted.data());
  return fitted;
}

// Returns the squared error of a block with this scale and minimum and the nearest codes.
double error_of(const float* x, const CodeKind& kind, ScaleAndMin of) {
  constexpr float kRounding = 0x1.8p23f;
  const auto low = static_cast<float>(kind.low), high = static_cast<float>(kind.high);
  const float inverse = 1 / of.scale;
  float left[kMax];
  for (size_t i = 0; i < kind.elements; ++i) {
    float code = (x[i] + of.min) * inverse;
    code = code > low ? code : low;
    code = code < high ? code : high;
    code = (code + kRounding) - kRounding;
    left[i] = x[i] - (code * of.scale - of.min);
  }
  float sums[4] = {};
  for (size_t i = 0; i < kind.elements; i += 4) {
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

// Returns the least error over scales of both signs, from 0.5 to 1.6 times the one that maps the
// largest element to the highest code.
double best_scale_error(const float* x, const CodeKind& kind) {
  const Range at = range_of(x, kind.elements);
  const float unit = std::max(at.most, -at.least) / static_cast<float>(kind.high);
  double best = INFINITY;
  for (int i = 0; i < kTried / 2; ++i) {
    const float scale = unit * (0.5f + 1.1f * static_cast<float>(i) / (kTried / 2));
    best = std::min({best, error_of(x, kind, {scale, 0}), error_of(x, kind, {-scale, 0})});
  }
  return best;
}

// Returns the least error over 100 scales, from 0.6 to 1.1 times the one that maps the range to all
// codes, times 100 minima, from the least element to a fifth of the range above it.
double best_min_error(const float* x, const CodeKind& kind) {
  const Range at = range_of(x, kMax);
  const float all = at.most - at.least;
  double best = INFINITY;
  for (int i = 0; i < kTried; ++i) {
    const auto s = static_cast<float>(i / 100), m = static_cast<float>(i % 100);
    const float scale = all / static_cast<float>(kind.high) * (0.6f + 0.005f * s);
    const float min = std::max(0.0f, -at.least - 0.002f * m * all);
    best = std::min(best, error_of(x, kind, {scale, min}));
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

// The fit tries few candidates, so its error may be up to 2 % above the best.
constexpr double kLoss = 1.02;

TEST(FitBlock, IsNearlyTheBestOfManyTried) {
  for (const CodeKind& kind : kKinds) {
    const std::vector<float> values = normal_values(kTestBlocks * kind.elements, 1);
    double found = 0, best = 0;
    const float* x = values.data();
    for (const ScaleAndMin& fitted : fit_all(kind, values)) {
      EXPECT_GE(fitted.min, 0);
      found += error_of(x, kind, fitted);
      best += kind.low < 0 ? best_scale_error(x, kind) : best_min_error(x, kind);
      x += kind.elements;
    }
    EXPECT_LE(found, kLoss * best) << kind.low << " to " << kind.high;
  }
}

// A block gets the same bits at every level, alone and with other blocks beside it.
TEST(FitBlock, LevelsAndBlocksBesideChangeNothing) {
  constexpr size_t kCount = 37;
  for (const CodeKind& kind : kKinds) {
    const size_t n = kind.elements;
    std::vector<float> values = normal_values(kCount * n, 5),
                       weights = normal_values(kCount * n, 6);
    for (float& weight : weights) weight = std::fabs(weight);
    std::fill_n(values.begin() + 3 * n, n, 0.0f);
    std::fill_n(values.begin() + 4 * n, n, -2.0f);
    for (size_t i = 5 * n; i < 6 * n; ++i) values[i] = 1 + std::fabs(values[i]);
    std::fill_n(weights.begin() + 6 * n, n, 0.0f);
    values[7 * n + 1] = NAN;
    values[8 * n + 2] = -INFINITY;
    for (size_t i = 9 * n; i < 10 * n; ++i) weights[i] = i % 5 == 0 ? 1.0f : 1e-8f;
    for (const float* counts : std::array<const float*, 2>{nullptr, weights.data()}) {
      const std::vector<ScaleAndMin> fitted = fit_all(kind, values, counts);
      for (const FitLevel* level : fit_levels()) {
        for (size_t b = 0; b < kCount; ++b) {
          ScaleAndMin alone;
          level->fit(kind, &values[b * n], 1, counts == nullptr ? nullptr : counts + b * n, &alone);
          EXPECT_EQ(std::memcmp(&alone, &fitted[b], sizeof alone), 0)
              << level->name << ' ' << kind.high << ' ' << b;
        }
      }
    }
  }
}

TEST(FitBlock, MinimaAreNotNegative) {
  std::vector<float> above(kMax), below(kMax);
  for (size_t i = 0; i < kMax; ++i) {
    above[i] = 2 + static_cast<float>(i) / kMax;
    below[i] = -above[i];
  }
  EXPECT_EQ(fit_all(kMinCodes4, above)[0].min, 0);
  EXPECT_LT(error_of(above.data(), kMinCodes4, fit_all(kMinCodes4, above)[0]),
            1.05 * best_min_error(above.data(), kMinCodes4));
  EXPECT_NEAR(fit_all(kMinCodes4, below)[0].min, 3, 0.1);  // a step is 1 / 15
}

TEST(FitBlock, ElementsWithLargerWeightsAreFitCloser) {
  const std::vector<float> values = normal_values(kTestBlocks * kMax, 3);
  std::vector<float> weights(values.size(), 1);
  for (size_t at = 0; at < weights.size(); at += kMax) weights[at] = weights[at + 5] = 1000;
  // Returns the squared error of the elements with the larger weight.
  auto error = [&](const CodeKind& kind, const float* counts) {
    const std::vector<ScaleAndMin> fitted = fit_all(kind, values, counts);
    std::vector<int8_t> codes(values.size());
    fit_levels().back()->nearest(kind, values.data(), fitted.size(), fitted.data(), codes.data());
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const ScaleAndMin& of = fitted[i / kMax];
      const double left = values[i] - (codes[i] * of.scale - of.min);
      if (weights[i] > 1) sum += left * left;
    }
    return sum;
  };
  EXPECT_LT(error(kCodes4, weights.data()), error(kCodes4, nullptr) / 4);
  EXPECT_LT(error(kMinCodes4, weights.data()), error(kMinCodes4, nullptr) / 4);
}

TEST(FitBlock, ScalingAllWeightsChangesNothing) {
  const std::vector<float> values = normal_values(10 * kMax, 3);
  for (const CodeKind& kind : kKinds) {
    const std::vector<float> ones(values.size(), 1);
    const std::vector<ScaleAndMin> wanted = fit_all(kind, values, ones.data());
    for (const float weight : {3.0f, 0.0f, 1e-30f, 1e30f}) {
      const std::vector<float> weights(values.size(), weight);
      const std::vector<ScaleAndMin> found = fit_all(kind, values, weights.data());
      for (size_t b = 0; b < found.size(); ++b) EXPECT_EQ(found[b].scale, wanted[b].scale);
    }
  }
}

TEST(FitBlock, DamagedBlocksHaveNoScale) {
  for (const CodeKind& kind : kKinds) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> values = normal_values(kind.elements, 4);
      values[7] = bad;
      EXPECT_TRUE(std::isnan(fit_all(kind, values)[0].scale));
    }
    for (const float none : {0.0f, 1e-40f}) {
      EXPECT_EQ(fit_all(kind, std::vector<float>(kind.elements, none))[0].scale, 0);
    }
  }
}

TEST(FitBlock, NearestCodes) {
  std::vector<float> values(32, 0.0f);
  values[0] = 1.3f;
  values[1] = -0.8f;
  values[2] = 100;
  values[3] = -100;
  values[4] = NAN;
  for (const FitLevel* level : fit_levels()) {
    auto codes = [&](const CodeKind& kind, ScaleAndMin of) {
      std::vector<int8_t> found(32);
      level->nearest(kind, values.data(), 1, &of, found.data());
      return std::vector<int8_t>(found.begin(), found.begin() + 6);
    };
    EXPECT_EQ(codes(kCodes4, {0.5f, 0}), (std::vector<int8_t>{3, -2, 7, -8, -8, 0}));
    EXPECT_EQ(codes(kCodes6, {0.5f, 0}), (std::vector<int8_t>{3, -2, 31, -32, -32, 0}));
    EXPECT_EQ(codes(kMinCodes4, {0.5f, 1}), (std::vector<int8_t>{5, 0, 15, 0, 0, 2}));
    EXPECT_EQ(codes(kCodes4, {0, 0})[2], 0);
  }
}

}  // namespace
}  // namespace hearth
