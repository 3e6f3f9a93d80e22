#include "bench/percentiles.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Percentiles, AreInterpolated) {
  Percentiles p = percentiles_of({5, 1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(p.p50, 3);
  EXPECT_DOUBLE_EQ(p.p90, 4.6);
  EXPECT_DOUBLE_EQ(p.p99, 4.96);
  EXPECT_DOUBLE_EQ(p.mean, 3);
  EXPECT_DOUBLE_EQ(percentiles_of({7}).p99, 7);
  EXPECT_DOUBLE_EQ(percentiles_of({1, 2}).p50, 1.5);
  EXPECT_EQ(percentiles_of({}).p90, 0);
}

TEST(Percentiles, AllOfThem) {
  std::vector<double> p = all_percentiles_of({3, 1});
  ASSERT_EQ(p.size(), 101u);
  EXPECT_DOUBLE_EQ(p[0], 1);
  EXPECT_DOUBLE_EQ(p[25], 1.5);
  EXPECT_DOUBLE_EQ(p[100], 3);
  EXPECT_TRUE(all_percentiles_of({}).empty());
}

}  // namespace
}  // namespace hearth
