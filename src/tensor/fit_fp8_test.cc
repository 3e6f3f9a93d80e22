#include "tensor/fit_fp8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace hearth {
namespace {

constexpr size_t kBlockOf8 = 128;
constexpr int kBlocksOf8 = 1000;

// Normally distributed, some blocks with an element that is larger by far.
std::vector<float> values_for_fp8(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(kBlocksOf8 * kBlockOf8);
  for (float& value : values) value = normal(random);
  for (size_t i = 0; i < values.size(); i += 5 * kBlockOf8) values[i] *= 30;
  return values;
}

// The squared error of a block with this scale and the nearest codes, each element's times its
// weight.
double error_with(const float* x, const float* weights, float scale) {
  double error = 0;
  for (size_t i = 0; i < kBlockOf8; ++i) {
    const float value = scale * e4m3_to_f32(f32_to_e4m3(x[i] / scale));
    error += (weights == nullptr ? 1 : weights[i]) * std::pow(x[i] - value, 2);
  }
  return error;
}

float largest_of(const float* x) {
  float largest = 0;
  for (size_t i = 0; i < kBlockOf8; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

// The best is searched among 500 scales of an octave: others give the same codes but for their
// exponents.
TEST(FitFp8, ScalesAreNearlyTheBestOfManyTried) {
  const std::vector<float> values = values_for_fp8(1);
  double found = 0, best = 0, largest = 0;
  e4m3_t codes[kBlockOf8];
  for (const float* x = values.data(); x < values.data() + values.size(); x += kBlockOf8) {
    found += error_with(x, nullptr, fit_fp8(x, kBlockOf8, nullptr, codes));
    double least = INFINITY;
    for (int i = 0; i < 500; ++i) {
      const float code = 224 + 240 * static_cast<float>(i) / 500;
      least = std::min(least, error_with(x, nullptr, largest_of(x) / code));
    }
    best += least;
    largest += error_with(x, nullptr, largest_of(x) / 448);
  }
  EXPECT_LE(found, 1.02 * best);
  EXPECT_LE(found, 0.85 * largest);
}

TEST(FitFp8, CodesAreTheNearest) {
  std::vector<float> values = values_for_fp8(2);
  values[3] = values[0] * 1e-7f;  // a subnormal code
  for (const size_t n : {kBlockOf8, size_t{100}, size_t{32}, size_t{1}}) {
    e4m3_t codes[kBlockOf8];
    const float scale = fit_fp8(values.data(), n, nullptr, codes);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(codes[i], f32_to_e4m3(values[i] / scale)) << i;
  }
}

TEST(FitFp8, WhatCountsMoreIsNearer) {
  const std::vector<float> values = values_for_fp8(3);
  std::vector<float> weights(kBlockOf8, 1);
  weights[1] = weights[90] = 1000;
  double evenly = 0, weighted = 0;
  e4m3_t codes[kBlockOf8];
  for (const float* x = values.data(); x < values.data() + values.size(); x += kBlockOf8) {
    evenly += error_with(x, weights.data(), fit_fp8(x, kBlockOf8, nullptr, codes));
    weighted += error_with(x, weights.data(), fit_fp8(x, kBlockOf8, weights.data(), codes));
  }
  EXPECT_LT(weighted, evenly / 4);
  const std::vector<float> none(kBlockOf8, 0);
  const float scale = fit_fp8(values.data(), kBlockOf8, none.data(), codes);
  EXPECT_FLOAT_EQ(scale, largest_of(values.data()) / 448);
}

TEST(FitFp8, ZerosAndDamagedBlocks) {
  std::vector<float> values(kBlockOf8, 0);
  e4m3_t codes[kBlockOf8];
  EXPECT_EQ(fit_fp8(values.data(), kBlockOf8, nullptr, codes), 0);
  EXPECT_EQ(codes[5], 0);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    values[7] = bad;
    fit_fp8(values.data(), kBlockOf8, nullptr, codes);
    EXPECT_TRUE(std::isnan(e4m3_to_f32(codes[7])));
  }
}

}  // namespace
}  // namespace hearth
