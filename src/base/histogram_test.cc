#include "base/histogram.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace hearth {
namespace {

std::vector<uint64_t> counts_of(const Histogram& histogram) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) counts.push_back(histogram.count(i));
  return counts;
}

TEST(Histogram, ABoundBelongsToTheValuesBelowIt) {
  Histogram histogram({1, 2, 4});
  EXPECT_EQ(histogram.count(), 0u);
  for (double value : {-5.0, 1.0, 1.5, 2.0, 2.5, 4.0, 4.5, 1e300}) histogram.observe(value);
  EXPECT_EQ(counts_of(histogram), (std::vector<uint64_t>{2, 2, 2, 2}));
  EXPECT_EQ(histogram.count(), 8u);
  histogram.observe(std::numeric_limits<double>::infinity());
  EXPECT_EQ(histogram.count(3), 3u);
}

TEST(Histogram, SumsWhatItSaw) {
  Histogram histogram({0.5});
  histogram.observe(0.25);
  histogram.observe(3);
  EXPECT_EQ(histogram.sum(), 3.25);
  EXPECT_EQ(histogram.bounds()[0], 0.5);
}

TEST(Histogram, WithoutBoundsCountsAll) {
  Histogram histogram({});
  histogram.observe(7);
  EXPECT_EQ(counts_of(histogram), std::vector<uint64_t>{1});
}

TEST(Histogram, ThreadsLoseNothing) {
  constexpr int kEach = 10000;
  Histogram histogram({1, 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&histogram, t] {
      for (int i = 0; i < kEach; ++i) histogram.observe(t + 0.5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts_of(histogram), std::vector<uint64_t>(3, kEach));
  EXPECT_EQ(histogram.sum(), 4.5 * kEach);
}

TEST(HistogramDeathTest, BoundsRise) { EXPECT_DEATH(Histogram({1, 1}), "bounds rise"); }

}  // namespace
}  // namespace hearth
