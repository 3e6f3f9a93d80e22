#include "base/fp_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hearth {
namespace {

// Computes the value from the fields in double, independently of the code under test.
double f16_value(uint16_t h) {
  int exponent = (h >> 10) & 31;
  int mantissa = h & 1023;
  double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(F16, EveryPatternDecodesAndRoundTrips) {
  for (int i = 0; i < 65536; ++i) {
    auto h = static_cast<f16_t>(i);
    float f = f16_to_f32(h);
    if (std::isnan(f16_value(h))) {
      EXPECT_TRUE(std::isnan(f));
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f))));
      continue;
    }
    EXPECT_EQ(static_cast<double>(f), f16_value(h)) << i;
    EXPECT_EQ(f32_to_f16(f), h) << i;
  }
}

TEST(F16, RoundsHalfwayToEven) {
  for (int i = 0; i < 0x7bff; ++i) {
    double low = f16_value(static_cast<f16_t>(i));
    double high = f16_value(static_cast<f16_t>(i + 1));
    auto middle = static_cast<float>((low + high) / 2);  // exact: one bit more than f16 has
    EXPECT_EQ(f32_to_f16(middle), i % 2 == 0 ? i : i + 1) << i;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), i + 1) << i;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, -1e9f)), i) << i;
  }
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
}

TEST(E4M3, EveryCodeDecodesAndFitsBf16) {
  for (int i = 0; i < 256; ++i) {
    const int exponent = i >> 3 & 15, mantissa = i & 7;
    const double sign = i & 0x80 ? -1 : 1;
    const float f = e4m3_to_f32(static_cast<e4m3_t>(i));
    EXPECT_EQ(std::signbit(f), sign < 0) << i;
    if (exponent == 15 && mantissa == 7) {
      EXPECT_TRUE(std::isnan(f)) << i;
      continue;
    }
    EXPECT_EQ(f, sign * (exponent == 0 ? std::ldexp(mantissa, -9)
                                       : std::ldexp(8 + mantissa, exponent - 10)))
        << i;
    EXPECT_EQ(bf16_to_f32(f32_to_bf16(f)), f) << i;
  }
}

TEST(Bf16, RoundTripsAndRoundsToEven) {
  for (int i = 0; i < 0x7f80; ++i) {
    auto h = static_cast<bf16_t>(i);
    EXPECT_EQ(f32_to_bf16(bf16_to_f32(h)), h);
    uint32_t middle = (static_cast<uint32_t>(i) << 16) | 0x8000u;
    EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(middle)), i % 2 == 0 ? i : i + 1) << i;
  }
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace hearth
