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

}  // namespace
}  // namespace hearth
