#include "bench/figures.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

LimitSample limit(double read, double fma, double int8) {
  LimitSample sample;
  sample.read = read;
  sample.ops = {fma, 0, int8, 2 * fma};
  return sample;
}

TEST(Figures, FiguresOfPrefill) {
  CaseResult result;
  result.what = {Phase::kPrefill, 100, 1, 0};
  result.work.gemm_ops = {0, 0, 6000};
  result.work.attention_ops = 2000;
  result.repetitions = {
      {2, limit(1, 500, 4000)}, {4, limit(1, 500, 4000)}, {1, limit(1, 500, 10000)}};
  Figures f = figures_of(result, ArithmeticUnit::kInt8Dot, limit(1, 1000, 20000));
  EXPECT_EQ(f.tokens_per_second.median, 50);
  EXPECT_EQ(f.tokens_per_second.least, 25);
  EXPECT_EQ(f.tokens_per_second.most, 100);
  EXPECT_EQ(f.seconds, 2);
  EXPECT_EQ(f.ops_per_second, 4000);
  EXPECT_DOUBLE_EQ(f.peak_share, 0.2);
  // The operations take 6000 / 20000 and 2000 / 1000 seconds at the peaks.
  EXPECT_DOUBLE_EQ(f.mixed_peak_share, 1.15);
  result.work.attention_unit = ArithmeticUnit::kInt16Dot;
  EXPECT_DOUBLE_EQ(
      figures_of(result, ArithmeticUnit::kInt8Dot, limit(1, 1000, 20000)).mixed_peak_share, 0.65);
  // The shares of the repetitions are 4000 / 4000, 2000 / 4000 and 8000 / 10000.
  EXPECT_DOUBLE_EQ(f.peak_share_beside, 0.8);
  EXPECT_FALSE(f.reading.has_value());
}

TEST(Figures, FiguresOfDecode) {
  CaseResult result;
  result.what = {Phase::kDecode, 10, 4, 0};
  result.work.steps = 10;
  result.work.weight_bytes = 600;
  result.work.kv_bytes = 100;
  result.work.gemm_ops = {0, 0, 6000};
  result.repetitions = {{2, limit(6000, 1, 1)}, {4, limit(2000, 1, 1)}};
  Figures f = figures_of(result, ArithmeticUnit::kInt8Dot, limit(8000, 1000, 20000));
  EXPECT_EQ(f.tokens_per_second.median, 15) << "of 20 and 10, of all sequences together";
  ASSERT_TRUE(f.reading.has_value());
  EXPECT_DOUBLE_EQ(f.reading->bytes_per_second, 2000);
  EXPECT_DOUBLE_EQ(f.reading->share, 0.25);
  EXPECT_DOUBLE_EQ(f.reading->share_with_kv, 7000.0 / 3 / 8000);
  // The shares of the repetitions are 3000 / 6000 and 1500 / 2000.
  EXPECT_DOUBLE_EQ(f.reading->share_beside, 0.625);
}

}  // namespace
}  // namespace hearth
