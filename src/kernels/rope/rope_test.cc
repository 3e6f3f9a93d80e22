#include "kernels/rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

std::vector<float> waves(uint32_t n, double step) {
  std::vector<float> x(n);
  for (uint32_t i = 0; i < n; ++i) x[i] = static_cast<float>(3 * std::sin(step * (i + 1)));
  return x;
}

RopeParams params(uint32_t n_rot, RopeLayout layout = RopeLayout::kInterleaved) {
  RopeParams p;
  p.n_rot = n_rot;
  p.layout = layout;
  return p;
}

std::vector<float> rotated(Isa isa, const RopeParams& p, std::vector<float> x, uint32_t position) {
  RopeTable table = make_rope_table(p, 4096);
  std::vector<float> cos(p.n_rot / 2), sin(p.n_rot / 2);
  rope_angles(table, position, cos.data(), sin.data());
  kernels_for(isa).rope({x.data(), cos.data(), sin.data(), p.n_rot, p.layout});
  return x;
}

// An output is fma(x0, c, -(x1 s)): it has two roundings of terms no larger than |x0| + |x1|, and c
// and s are rounded themselves.
TEST(RopeTest, AllLevelsRotateInTheSameBits) {
  for (RopeLayout layout : {RopeLayout::kInterleaved, RopeLayout::kHalf}) {
    for (uint32_t n_rot = 2; n_rot <= 140; n_rot += 2) {
      RopeParams p = params(n_rot, layout);
      std::vector<float> x = waves(n_rot + 21, 0.9);
      constexpr uint32_t kPosition = 71;
      std::vector<float> reference = rotated(Isa::kReference, p, x, kPosition);
      for (uint32_t i = 0; i < n_rot / 2; ++i) {
        uint32_t first = layout == RopeLayout::kInterleaved ? 2 * i : i;
        uint32_t second = layout == RopeLayout::kInterleaved ? 2 * i + 1 : i + n_rot / 2;
        double angle = kPosition * std::pow(10000.0, -2.0 * i / n_rot);
        double x0 = x[first], x1 = x[second];
        double bound = 3 * 0x1p-24 * (std::fabs(x0) + std::fabs(x1));
        ASSERT_NEAR(reference[first], x0 * std::cos(angle) - x1 * std::sin(angle), bound);
        ASSERT_NEAR(reference[second], x0 * std::sin(angle) + x1 * std::cos(angle), bound);
      }
      for (uint32_t i = n_rot; i < x.size(); ++i) ASSERT_EQ(reference[i], x[i]);
      for (Isa isa : test_levels()) {
        std::vector<float> out = rotated(isa, p, x, kPosition);
        ASSERT_EQ(0, std::memcmp(out.data(), reference.data(), out.size() * sizeof(float)))
            << isa_name(isa) << " " << n_rot;
      }
    }
  }
}

// The product of a rotated query and a rotated key depends only on their distance.
TEST(RopeTest, ProductsDependOnDistance) {
  for (RopeLayout layout : {RopeLayout::kInterleaved, RopeLayout::kHalf}) {
    RopeParams p = params(64, layout);
    std::vector<float> q = waves(64, 0.7), k = waves(64, 1.9);
    auto product = [&](uint32_t m, uint32_t n) {
      std::vector<float> a = rotated(Isa::kReference, p, q, m);
      std::vector<float> b = rotated(Isa::kReference, p, k, n);
      double sum = 0;
      for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
      return sum;
    };
    // There are 64 products below 18, and each factor is off by 3 roundings of its pair.
    constexpr double kBound = 64 * 18 * 12 * 0x1p-24;
    EXPECT_NEAR(product(17, 5), product(12, 0), kBound);
    EXPECT_NEAR(product(100012, 100000), product(12, 0), kBound);
    EXPECT_GT(std::fabs(product(17, 5) - product(18, 5)), 1.0);
  }
}

TEST(RopeTest, AnglesAreRoundedOnceEvenFarOut) {
  RopeTable table = make_rope_table(params(8), 4096);
  std::vector<float> cos(4), sin(4);
  rope_angles(table, 1000003, cos.data(), sin.data());
  for (uint32_t i = 0; i < 4; ++i) {
    long double angle = 1000003.0L * std::pow(10000.0L, -0.25L * i);
    EXPECT_FLOAT_EQ(cos[i], static_cast<float>(std::cos(angle)));
    EXPECT_FLOAT_EQ(sin[i], static_cast<float>(std::sin(angle)));
  }
}

TEST(RopeTest, LinearScalingDividesPositions) {
  RopeParams p = params(32), scaled = p;
  scaled.scaling = RopeScaling::kLinear;
  scaled.factor = 4;
  std::vector<float> x = waves(32, 0.4);
  EXPECT_EQ(rotated(Isa::kReference, scaled, x, 400), rotated(Isa::kReference, p, x, 100));
  EXPECT_EQ(make_rope_table(scaled, 4096).magnitude, 1);
}

TEST(RopeTest, FrequencyFactorsDivideFrequencies) {
  RopeParams p = params(8);
  std::vector<double> plain = make_rope_table(p, 4096).inverse_frequency;
  p.freq_factors = {1.0f, 1.0f, 3.5f, 8.0f};
  std::vector<double> divided = make_rope_table(p, 4096).inverse_frequency;
  for (uint32_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(divided[i] * p.freq_factors[i], plain[i]);
}

// The pair that turns r times over 2048 positions is 8 ln(2048 / 2 pi r) / ln 10000: 2.01 for r =
// 32 and 5.03 for r = 1. So pairs up to 2 keep their frequency 10000^(-i/8), pairs from 6 on have a
// quarter, and pair 3 is a quarter of the way: 10000^(-3/8) (3/4 + 1/4 * 1/4).
TEST(RopeTest, Yarn) {
  RopeParams p = params(16);
  p.scaling = RopeScaling::kYarn;
  p.factor = 4;
  p.original_context = 2048;
  const double expected[] = {1.0,     0.31622776601683794,  0.1,     0.02569350598886808,
                             0.00625, 0.001383496476323666, 0.00025, 7.905694150420948e-05};
  RopeTable table = make_rope_table(p, 4096);
  ASSERT_EQ(table.inverse_frequency.size(), 8u);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(table.inverse_frequency[i], expected[i], 1e-15) << "pair " << i;
  }
  EXPECT_NEAR(table.magnitude, 1.138629436111989, 1e-15);  // 1 + 0.1 ln 4

  p.yarn_attn_factor = 0.5;
  EXPECT_NEAR(make_rope_table(p, 4096).magnitude, 0.5 * 1.138629436111989, 1e-15);
  float cos[8], sin[8];
  rope_angles(make_rope_table(p, 4096), 0, cos, sin);
  EXPECT_FLOAT_EQ(cos[5], 0.5f * 1.138629436111989f);
  EXPECT_EQ(sin[5], 0.0f);

  p.yarn_ext_factor = 0;
  table = make_rope_table(p, 4096);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(table.inverse_frequency[i], std::pow(10000.0, -0.125 * i) / 4, 1e-15);
  }
  EXPECT_EQ(table.magnitude, 0.5);
  // The attention factor multiplies sines and cosines without YaRN, too.
  p.scaling = RopeScaling::kLinear;
  EXPECT_EQ(make_rope_table(p, 4096).magnitude, 0.5);
}

// The ramp goes from pair 2.0160 to pair 5.0263, which are not rounded here.
TEST(RopeTest, YarnWithoutRounding) {
  RopeParams p = params(16);
  p.scaling = RopeScaling::kYarn;
  p.factor = 4;
  p.original_context = 2048;
  p.yarn_whole_pairs = false;
  const double expected[] = {1.0,
                             0.31622776601683794,
                             0.1,
                             0.023870192321736323,
                             0.005056971521129435,
                             0.000811290381701431,
                             0.00025,
                             7.905694150420948e-05};
  const RopeTable table = make_rope_table(p, 4096);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(table.inverse_frequency[i], expected[i], 1e-15) << "pair " << i;
  }
}

TEST(RopeTest, ParametersThatCannotBe) {
  auto refused = [](auto&& change) {
    RopeParams p = params(16);
    change(p);
    EXPECT_THROW(make_rope_table(p, 4096), Error);
  };
  refused([](RopeParams& p) { p.n_rot = 15; });
  refused([](RopeParams& p) { p.freq_base = 0; });
  refused([](RopeParams& p) { p.freq_base = std::numeric_limits<double>::quiet_NaN(); });
  refused([](RopeParams& p) { p.factor = 0; });
  refused([](RopeParams& p) { p.scaling = RopeScaling::kYarn; });
  refused([](RopeParams& p) { p.freq_factors = {1.0f}; });
  refused([](RopeParams& p) { p.freq_factors = std::vector<float>(8, 0.0f); });
}

TEST(RopeTest, LongRopeTakesFactorsByTheContext) {
  RopeParams params;
  params.n_rot = 8;
  params.original_context = 512;
  params.freq_factors = {4, 4, 4, 4};
  params.short_factors = {2, 2, 2, 2};
  EXPECT_EQ(make_rope_table(params, 512).inverse_frequency[0], 0.5);
  EXPECT_EQ(make_rope_table(params, 513).inverse_frequency[0], 0.25);
}

}  // namespace
}  // namespace hearth
