#include "embed/latency_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

TEST(LatencyLine, FitsWhatLiesOnALine) {
  std::vector<LatencySample> samples;
  for (double count : {1.0, 4.0, 16.0, 40.0}) samples.push_back({count, 0.018 * count + 0.27});
  LatencyLine line = fit_latency(samples);
  // Alpha and beta are quotients of sums of a few terms near 1, which are rounded by 2^-53. The
  // divisor is far from 0.
  EXPECT_NEAR(line.alpha, 0.018, 1e-12);
  EXPECT_NEAR(line.beta, 0.27, 1e-12);
}

TEST(LatencyLine, HasNoNegativeParts) {
  // The best line would be t = x - 1 if beta might be negative.
  std::vector<LatencySample> steep = {{2, 1}, {4, 3}};
  LatencyLine line = fit_latency(steep);
  EXPECT_EQ(line.beta, 0);
  EXPECT_GT(line.alpha, 0);
  std::vector<LatencySample> falling = {{1, 2}, {10, 1}};
  line = fit_latency(falling);
  EXPECT_EQ(line.alpha, 0);
  EXPECT_GE(line.beta, 1);
  EXPECT_LE(line.beta, 2);
}

TEST(LatencyLine, GoesThroughZeroWhereOneSizeIsKnown) {
  std::vector<LatencySample> samples = {{4, 2}, {4, 2}};
  LatencyLine line = fit_latency(samples);
  EXPECT_DOUBLE_EQ(line.alpha, 0.5);
  EXPECT_EQ(line.beta, 0);
}

TEST(LatencyLine, GivesTheDepthsOfTheFormula) {
  EXPECT_EQ(depth_within({0.018, 0.27}, 1, 1000), 40u);
  // (2 - 0.32) / 0.084 is 20, and a little less in binary.
  EXPECT_EQ(depth_within({0.084, 0.32}, 2, 1000), 20u);
  EXPECT_EQ(depth_within({0.5, 0.6}, 1, 1000), 0u);
  EXPECT_EQ(depth_within({0.1, 2}, 1, 1000), 0u);
  EXPECT_EQ(depth_within({0, 0.5}, 1, 1000), 1000u);
  EXPECT_EQ(depth_within({1e-9, 0.5}, 1, 1000), 1000u);
}

TEST(LatencyLine, CountsInSmallerThings) {
  LatencyLine tokens = LatencyLine{0.75, 0.25}.per(75);
  EXPECT_DOUBLE_EQ(tokens.seconds(150), 1.75);
}

}  // namespace
}  // namespace hearth
