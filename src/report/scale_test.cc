#include "report/scale.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hearth {
namespace {

using Ticks = std::vector<double>;

TEST(Scale, TicksAreRoundAndCoverTheMaximum) {
  EXPECT_EQ(linear_scale(9.3).ticks, (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(linear_scale(1).ticks, (Ticks{0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_EQ(linear_scale(0.3).ticks, (Ticks{0, 0.1, 0.2, 0.3}));
  EXPECT_EQ(linear_scale(101).ticks, (Ticks{0, 50, 100, 150}));
  EXPECT_EQ(linear_scale(1e-6).high, 1e-6);
  // Values that are 0 or no numbers give an axis, too.
  EXPECT_EQ(linear_scale(0).high, 1);
  EXPECT_EQ(linear_scale(std::nan("")).high, 1);
}

TEST(Scale, CoversAllValues) {
  for (double most = 1e-7; most < 1e12; most *= 1.37) {
    for (const Scale& scale : {linear_scale(most), scale_over(most / 300, most)}) {
      EXPECT_GE(scale.high, most * (1 - 1e-8));
      EXPECT_LE(scale.ticks.size(), 9u) << most;
      EXPECT_GE(scale.ticks.size(), 2u) << most;
      EXPECT_EQ(scale.ticks.front(), scale.low);
      EXPECT_EQ(scale.ticks.back(), scale.high);
      EXPECT_TRUE(std::is_sorted(scale.ticks.begin(), scale.ticks.end()));
    }
    EXPECT_LE(linear_scale(most).high, most * 2.01);
    EXPECT_LE(scale_over(most / 300, most).low, most / 300 * (1 + 1e-8));
  }
}

TEST(Scale, IsLogarithmicWhereValuesLieFarApart) {
  EXPECT_FALSE(scale_over(1, 20).logarithmic);
  EXPECT_FALSE(scale_over(0, 1e6).logarithmic);
  const Scale scale = scale_over(1, 64);
  EXPECT_TRUE(scale.logarithmic);
  EXPECT_EQ(scale.ticks, (Ticks{1, 2, 5, 10, 20, 50, 100}));
  EXPECT_DOUBLE_EQ(scale.part(10), 0.5);
  EXPECT_EQ(scale.part(0), 0);
  EXPECT_EQ(scale_over(3e-3, 7e3).ticks, (Ticks{2e-3, 1e-2, 1e-1, 1, 10, 100, 1000, 10000}));
}

TEST(Scale, PartsAreHeldWithin) {
  const Scale scale = linear_scale(10);
  EXPECT_DOUBLE_EQ(scale.part(2.5), 0.25);
  EXPECT_EQ(scale.part(-1), 0);
  EXPECT_EQ(scale.part(11), 1);
}

TEST(Scale, TicksRead) {
  EXPECT_EQ(tick_text(0, Quantity::kNumber), "0");
  EXPECT_EQ(tick_text(0.25, Quantity::kNumber), "0.25");
  EXPECT_EQ(tick_text(1500, Quantity::kNumber), "1500");
  EXPECT_EQ(tick_text(20000, Quantity::kNumber), "20 k");
  EXPECT_EQ(tick_text(2.5e6, Quantity::kNumber), "2.5 M");
  EXPECT_EQ(tick_text(0, Quantity::kPart), "0 %");
  EXPECT_EQ(tick_text(0.4, Quantity::kPart), "40 %");
  EXPECT_EQ(tick_text(0.02, Quantity::kSeconds), "20 ms");
  EXPECT_EQ(tick_text(1.5, Quantity::kSeconds), "1.5 s");
}

}  // namespace
}  // namespace hearth
