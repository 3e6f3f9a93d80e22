#include "kernels/simd/exp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace hearth {
namespace {

TEST(ExpTest, RelativeErrorOverItsWholeRange) {
  double worst = 0;
  uint32_t end = std::bit_cast<uint32_t>(kExpFloor);
  // Tests every 997th float from -0 to the floor.
  for (uint32_t u = 0x80000000u; u <= end; u += 997) {
    float x = std::bit_cast<float>(u);
    double truth = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::fabs(exp_nonpositive(x) - truth) / truth);
  }
  EXPECT_LT(worst, 1.2e-7);
  EXPECT_GT(worst, 0.3e-7);  // no binary32 result does better
}

TEST(ExpTest, Ends) {
  EXPECT_EQ(exp_nonpositive(0.0f), 1.0f);
  EXPECT_EQ(exp_nonpositive(-0.0f), 1.0f);
  EXPECT_GE(exp_nonpositive(kExpFloor), std::numeric_limits<float>::min());
  EXPECT_EQ(exp_nonpositive(std::nextafter(kExpFloor, -100.0f)), 0.0f);
  EXPECT_EQ(exp_nonpositive(-1e30f), 0.0f);
  EXPECT_EQ(exp_nonpositive(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(exp_nonpositive(std::numeric_limits<float>::quiet_NaN())));
}

TEST(ExpTest, FallsWithItsArgument) {
  float before = 1;
  for (float x = 0; x > -90; x -= 0.003f) {
    float now = exp_nonpositive(x);
    EXPECT_LE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace hearth
