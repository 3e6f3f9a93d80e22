#include "tune/plan_pairs.h"

#include <gtest/gtest.h>

#include <limits>

namespace hearth {
namespace {

constexpr uint32_t kMax = 20;

TEST(PlanPairs, EndAsSoonAsTheyAreEnough) {
  const TimeRatio worse{1.2, 1.1, 1.3}, better{0.9, 0.85, 0.95}, none{1.0, 0.9, 1.1};
  EXPECT_FALSE(enough_pairs(worse, 2, kMax));
  EXPECT_TRUE(enough_pairs(worse, 3, kMax));
  for (uint32_t pairs : {3u, 7u, 9u, 15u, 17u}) {
    EXPECT_FALSE(enough_pairs(better, pairs, kMax)) << "an interval is looked at seldom: " << pairs;
  }
  for (uint32_t pairs : {8u, 16u, 20u}) EXPECT_TRUE(enough_pairs(better, pairs, kMax)) << pairs;
  EXPECT_FALSE(enough_pairs(none, 9, kMax));
  EXPECT_TRUE(enough_pairs(none, 10, kMax));
  EXPECT_FALSE(enough_pairs({0.95, 0.8, 1.1}, 19, kMax));
}

TEST(PlanPairs, AllOfACandidateTakeATwentiethOfTheTime) {
  EXPECT_EQ(pairs_within(600, 0.001), 20u);
  EXPECT_EQ(pairs_within(600, 2), 15u);
  EXPECT_EQ(pairs_within(600, 10), 8u) << "a verdict needs as many";
}

TEST(PlanPairs, LikelyAreAsManyAsTheScatterAsksFor) {
  EXPECT_EQ(likely_pairs({1, 0, std::numeric_limits<double>::infinity()}, 1, kMax), 10u);
  EXPECT_EQ(likely_pairs({1.2, 1.19, 1.21}, 2, kMax), 3u);
  EXPECT_EQ(likely_pairs({1.2, 0.8, 1.8}, 3, kMax), 10u) << "half, where it saves nothing";
  // The ratio is 4 % away from the limit, but its interval reaches 6 % to either side. With (6/4)^2
  // times as many pairs it reaches 4 %.
  EXPECT_EQ(likely_pairs({1.0296, 1.0296 / 1.06, 1.0296 * 1.06}, 4, 64), 9u);
  EXPECT_EQ(likely_pairs({0.9, 0.88, 0.92}, 3, kMax), 8u);
  EXPECT_EQ(likely_pairs({0.95, 0.88, 1.02}, 4, kMax), 16u);
  EXPECT_EQ(likely_pairs({0.98, 0.8, 1.2}, 6, kMax), kMax);
  EXPECT_EQ(likely_pairs({1.2, 1.1, 1.3}, 3, kMax), 3u);
}

}  // namespace
}  // namespace hearth
