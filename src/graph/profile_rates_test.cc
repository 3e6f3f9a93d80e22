#include "graph/profile_rates.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

// Two threads, 10 s: an op that reads (3 s of work, 1 s of barrier), one that computes (2 s, after
// 0.5 s of meeting), and one that does neither (1 s).
ProfileSummary summary() {
  ProfileRow reads{"reads", 7, {0, 3, 1}, {0, 4, 1.5}, {}};
  reads.work.bytes = 200;
  reads.work.of(ArithmeticUnit::kInt8Dot) = 400;
  ProfileRow computes{"computes", 9, {0.5, 2, 0}, {0.75, 2, 0}, {}};
  computes.work.bytes = 20;
  computes.work.of(ArithmeticUnit::kInt8Dot) = 500;
  computes.work.of(ArithmeticUnit::kF32Fma) = 40;
  ProfileRow other{"other", 1, {0, 1, 0}, {0, 1, 0}, {}};
  ProfileSummary all;
  all.runs = 5;
  all.tokens = 50;
  all.threads = 2;
  all.seconds = 10;
  all.rows = {reads, computes, other};
  all.by_threads = {{0.25, 7, 0.5}, {0.75, 5, 1.5}};
  return all;
}

const MachineLimits kLimits{100, {40, 500, 1000}};

TEST(ProfileRates, RatesOfAnOpThatReads) {
  OpRate rate = profile_rates(summary(), kLimits).ops.at(0);
  EXPECT_EQ(rate.name, "reads");
  EXPECT_EQ(rate.calls, 7u);
  EXPECT_DOUBLE_EQ(rate.seconds, 4);
  EXPECT_DOUBLE_EQ(rate.share.work, 0.3);
  EXPECT_DOUBLE_EQ(rate.share.barrier, 0.1);
  EXPECT_DOUBLE_EQ(rate.imbalance, 1.0 / 3);
  EXPECT_DOUBLE_EQ(rate.bytes_per_second, 50);
  EXPECT_DOUBLE_EQ(rate.operations_per_second, 100);
  EXPECT_DOUBLE_EQ(rate.limit_seconds, 2);  // 200 bytes at 100; 400 operations would take 0.4
  EXPECT_DOUBLE_EQ(rate.share_of_limit, 0.5);
  EXPECT_EQ(rate.bound, Bound::kBandwidth);
}

TEST(ProfileRates, RatesOfAnOpThatComputesOnTwoUnits) {
  OpRate rate = profile_rates(summary(), kLimits).ops.at(1);
  EXPECT_DOUBLE_EQ(rate.seconds, 2);  // without the time of meeting before it
  EXPECT_DOUBLE_EQ(rate.share.meet, 0.05);
  EXPECT_DOUBLE_EQ(rate.imbalance, 0);
  EXPECT_DOUBLE_EQ(rate.limit_seconds, 1.5);  // 500 at 1000 and 40 at 40; 20 bytes take 0.2
  EXPECT_DOUBLE_EQ(rate.share_of_limit, 0.75);
  EXPECT_EQ(rate.bound, Bound::kArithmetic);
}

TEST(ProfileRates, RatesOfNothingAreZero) {
  OpRate rate = profile_rates(summary(), kLimits).ops.at(2);
  EXPECT_EQ(rate.bytes_per_second, 0);
  EXPECT_EQ(rate.share_of_limit, 0);
  EXPECT_EQ(rate.bound, Bound::kNone);
  ProfileRates unknown = profile_rates(summary(), {});
  EXPECT_DOUBLE_EQ(unknown.ops.at(0).bytes_per_second, 50);
  EXPECT_EQ(unknown.ops.at(0).share_of_limit, 0);
  EXPECT_EQ(unknown.all.bound, Bound::kNone);
  ProfileRates empty = profile_rates({}, kLimits);
  EXPECT_TRUE(empty.ops.empty());
  EXPECT_EQ(empty.all.share_of_limit, 0);
  EXPECT_EQ(empty.all.imbalance, 0);
}

TEST(ProfileRates, RatesOfAllOpsAreAgainstTheWallTime) {
  OpRate all = profile_rates(summary(), kLimits).all;
  EXPECT_EQ(all.calls, 5u);
  EXPECT_DOUBLE_EQ(all.seconds, 10);
  EXPECT_DOUBLE_EQ(all.share.work, 0.6);
  EXPECT_DOUBLE_EQ(all.share.barrier, 0.1);
  EXPECT_DOUBLE_EQ(all.share.meet, 0.05);
  EXPECT_DOUBLE_EQ(all.imbalance, 1.0 / 6);
  EXPECT_DOUBLE_EQ(all.bytes_per_second, 22);
  EXPECT_DOUBLE_EQ(all.operations_per_second, 94);
  EXPECT_DOUBLE_EQ(all.limit_seconds, 3.5);
  EXPECT_DOUBLE_EQ(all.share_of_limit, 0.35);
  EXPECT_EQ(all.bound, Bound::kBandwidth);  // of 3.5 s, 2 are reading
}

}  // namespace
}  // namespace hearth
