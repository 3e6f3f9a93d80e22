#include "bench/cpu_times.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(CpuTimes, ReadsTheFirstLine) {
  auto times = parse_cpu_times("cpu  100 20 30 400 5 6 7 32 11 12\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->all, 600u) << "guest time counts once";
  EXPECT_EQ(times->busy, 163u);
  EXPECT_EQ(times->stolen, 32u);
}

TEST(CpuTimes, RefusesMalformedLines) {
  EXPECT_FALSE(parse_cpu_times("").has_value());
  EXPECT_FALSE(parse_cpu_times("cpu 1 2 3 4").has_value());
  EXPECT_FALSE(parse_cpu_times("cpu0 1 2 3 4 5 6 7 8").has_value());
  EXPECT_FALSE(parse_cpu_times("cpu 1 2 3 4 5 6 7 x").has_value());
}

TEST(CpuTimes, SharesOfWhatPassed) {
  CpuTimes before{1000, 500, 50, 20}, after{1200, 600, 60, 90};
  auto shares = cpu_shares(before, after);
  ASSERT_TRUE(shares.has_value());
  EXPECT_DOUBLE_EQ(shares->stolen, 0.05);
  EXPECT_DOUBLE_EQ(shares->others, 0.15);
  // Here the counter of stolen time fell. Rounding makes this process use more time than all
  // processes together.
  shares = cpu_shares(before, CpuTimes{1200, 560, 40, 81});
  EXPECT_EQ(shares->stolen, 0);
  EXPECT_EQ(shares->others, 0);
  EXPECT_FALSE(cpu_shares(before, before).has_value());
  EXPECT_FALSE(cpu_shares(std::nullopt, before).has_value());
}

TEST(CpuTimes, ReadsThisMachine) {
  auto times = read_cpu_times();
  if (!times) GTEST_SKIP() << "no /proc/stat here";
  EXPECT_LE(times->busy + times->stolen, times->all);
}

}  // namespace
}  // namespace hearth
