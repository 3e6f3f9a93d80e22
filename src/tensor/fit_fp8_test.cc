#include "tensor/fit_fp8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tensor/fit_block.h"

namespace hearth {
namespace {

constexpr size_t kBlockOf8 = 128;
constexpr int kBlocksOf8 = 1000;

// Returns the nearest E4M3 code, the even one of two at equal distance. Larger numbers become the
// largest.
e4m3_t f32_to_e4m3(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (u >> 24) & 0x80u;
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return static_cast<e4m3_t>(sign | 0x7fu);
  if (u >= 0x43e00000u) return static_cast<e4m3_t>(sign | 0x7eu);  // from 448 on
  if (u < 0x3c800000u) {
    // Adding 2^14 to a number below 2^-6 aligns the mantissa, so that the hardware rounds at 2^-9.
    const float shifted = std::bit_cast<float>(u) + 0x1p14f;
    return static_cast<e4m3_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000u));
  }
  const uint32_t rounded = u + 0x7ffffu + ((u >> 20) & 1u);
  return static_cast<e4m3_t>(sign | ((rounded - 0x3c000000u) >> 20));
}

// Returns normally distributed values; some blocks have one element that is larger by far.
std::vector<float> values_for_fp8(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(kBlocksOf8 * kBlockOf8);
  for (float& value : values) value = normal(random);
  for (size_t i = 0; i < values.size(); i += 5 * kBlockOf8) values[i] *= 30;
  return values;
}

// Returns the weighted squared error of a block with this scale and the nearest codes.
double error_with(const float* x, const float* weights, float scale) {
  double error = 0;
  for (size_t i = 0; i < kBlockOf8; ++i) {
    const float value = scale * e4m3_to_f32(f32_to_e4m3(x[i] / scale));
    error += (weights == nullptr ? 1 : weights[i]) * std::pow(x[i] - value, 2);
  }
  return error;
}

float scale_of(const float* x, size_t n, const float* weights, e4m3_t* codes) {
  float scale;
  fit_fp8(x, n, weights, codes, &scale);
  return scale;
}

float largest_of(const float* x) {
  float largest = 0;
  for (size_t i = 0; i < kBlockOf8; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

TEST(FitFp8, TheTestsCodesRoundTripAndRoundToEven) {
  for (int i = 0; i < 0x7e; ++i) {
    const auto code = static_cast<e4m3_t>(i);
    const float here = e4m3_to_f32(code), next = e4m3_to_f32(static_cast<e4m3_t>(i + 1));
    EXPECT_EQ(f32_to_e4m3(here), i);
    EXPECT_EQ(f32_to_e4m3(-here), i | 0x80);
    const float middle = (here + next) / 2;
    EXPECT_EQ(f32_to_e4m3(middle), i % 2 == 0 ? i : i + 1) << i;
    EXPECT_EQ(f32_to_e4m3(std::nextafter(middle, 1e9f)), i + 1) << i;
    EXPECT_EQ(f32_to_e4m3(std::nextafter(middle, -1e9f)), i) << i;
  }
  EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
  EXPECT_EQ(f32_to_e4m3(-std::numeric_limits<float>::infinity()), 0xfe);
  EXPECT_EQ(f32_to_e4m3(std::numeric_limits<float>::quiet_NaN()) & 0x7f, 0x7f);
}

// The test searches 500 scales within an octave. With scales outside of it the codes would be the
// same but for their exponents.
TEST(FitFp8, ScalesAreNearlyTheBestOfManyTried) {
  const std::vector<float> values = values_for_fp8(1);
  double found = 0, best = 0, largest = 0;
  e4m3_t codes[kBlockOf8];
  for (const float* x = values.data(); x < values.data() + values.size(); x += kBlockOf8) {
    found += error_with(x, nullptr, scale_of(x, kBlockOf8, nullptr, codes));
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
    const float scale = scale_of(values.data(), n, nullptr, codes);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(codes[i], f32_to_e4m3(values[i] / scale)) << i;
  }
}

// Neither the level nor neighbouring blocks change a result.
TEST(FitFp8, EveryLevelGivesTheSame) {
  std::vector<float> values = values_for_fp8(4);
  std::vector<float> weights(values.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < kBlockOf8; ++i) weights[i] = i % 5 == 0 ? 1.0f : 1e-8f;
  values[kBlockOf8 + 1] = NAN;
  values[2 * kBlockOf8 + 2] = -INFINITY;
  const float* const choices[] = {nullptr, weights.data()};
  for (const float* counts : choices) {
    const size_t n = 37 * kBlockOf8 + 50;
    std::vector<e4m3_t> codes(n);
    std::vector<float> scales(38);
    fit_fp8(values.data(), n, counts, codes.data(), scales.data());
    for (size_t b = 0; b < scales.size(); ++b) {
      const size_t at = b * kBlockOf8, count = std::min(kBlockOf8, n - at);
      float x[16 * kBlockOf8] = {}, own[16 * kBlockOf8] = {}, scale[16];
      uint8_t found[16 * kBlockOf8];
      std::copy_n(values.data() + at, count, x);
      if (counts != nullptr) std::copy_n(counts + at, count, own);
      for (const FitLevel* level : fit_levels()) {
        level->fp8(x, counts == nullptr ? nullptr : own, scale, found);
        EXPECT_EQ(std::memcmp(&scale[0], &scales[b], sizeof(float)), 0) << level->name << b;
        EXPECT_TRUE(std::equal(found, found + count, codes.data() + at)) << level->name;
      }
    }
  }
}

TEST(FitFp8, ElementsWithLargerWeightsAreFitCloser) {
  const std::vector<float> values = values_for_fp8(3);
  std::vector<float> weights(kBlockOf8, 1);
  weights[1] = weights[90] = 1000;
  double evenly = 0, weighted = 0;
  e4m3_t codes[kBlockOf8];
  for (const float* x = values.data(); x < values.data() + values.size(); x += kBlockOf8) {
    evenly += error_with(x, weights.data(), scale_of(x, kBlockOf8, nullptr, codes));
    weighted += error_with(x, weights.data(), scale_of(x, kBlockOf8, weights.data(), codes));
  }
  EXPECT_LT(weighted, evenly / 4);
  // Weights that are all 0 count as equal ones.
  const std::vector<float> none(kBlockOf8, 0);
  EXPECT_EQ(scale_of(values.data(), kBlockOf8, none.data(), codes),
            scale_of(values.data(), kBlockOf8, nullptr, codes));
}

TEST(FitFp8, ZerosAndDamagedBlocks) {
  std::vector<float> values(kBlockOf8, 0);
  e4m3_t codes[kBlockOf8];
  EXPECT_EQ(scale_of(values.data(), kBlockOf8, nullptr, codes), 0);
  EXPECT_EQ(codes[5], 0);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    values[7] = bad;
    scale_of(values.data(), kBlockOf8, nullptr, codes);
    EXPECT_TRUE(std::isnan(e4m3_to_f32(codes[7])));
  }
}

}  // namespace
}  // namespace hearth
