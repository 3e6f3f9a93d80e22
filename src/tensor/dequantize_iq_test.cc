// Tests the i-quants like dequantize_test.cc tests the others. These blocks use the following rows
// of the grids: IQ2_XXS 1 and IQ2_XS 1 are 43 8 8 8 8 8 8 8, IQ2_S 0 is eight times 8, IQ3_XXS 5 is
// 62 12 4 4, IQ3_S 4 is 15 1 1 1, IQ1 0 is eight times -1, and IQ1 4 is 1 1 -1 -1 -1 -1 -1 -1.
#include <gtest/gtest.h>

#include "tensor/iquant_grids.h"
#include "tensor/test_block.h"

namespace hearth {
namespace {

TEST(DequantizeIq, IQ2_XXS) {
  TestBlock b(DType::kIQ2_XXS);
  b.f16(0, 0.5f);
  // Block 7: group 2 has row 1 and sign bits 0000001, so its last element is negative too. The word
  // has s = 9 in the top bits, and 1 << 14.
  b.set(2 + 56, {0, 0, 1, 0, 0x00, 0x40, 0x00, 0x90});
  const auto& v = b.values();
  EXPECT_EQ(v[224 + 16], -51.0625f);  // 0.5 * 19 / 8 * -43
  EXPECT_EQ(v[224 + 17], 9.5f);       // 0.5 * 19 / 8 * 8
  EXPECT_EQ(v[224 + 23], -9.5f);
  EXPECT_EQ(v[224 + 15], 9.5f);
  EXPECT_EQ(v[0], 0.5f);  // 0.5 / 8 * 8
}

TEST(DequantizeIq, IQ2_XS) {
  TestBlock b(DType::kIQ2_XS);
  b.f16(0, 0.5f);
  // Groups 2 and 3 of block 3: row 1, signs 0000011 and 1000000; its scales are 2 and 15.
  b.set(2 + 2 * 14, {0x01, 0x06, 0x01, 0x80}).set(66 + 3, {0xf2});
  const auto& v = b.values();
  EXPECT_EQ(v[96 + 16], -83.3125f);  // 0.5 * 31 / 8 * -43
  EXPECT_EQ(v[96 + 17], -15.5f);
  EXPECT_EQ(v[96 + 23], 15.5f);
  EXPECT_EQ(v[96 + 24], 83.3125f);
  EXPECT_EQ(v[96 + 30], -15.5f);
  EXPECT_EQ(v[96 + 31], -15.5f);
  EXPECT_EQ(v[96], 2.5f);  // 0.5 * 5 / 8 * 8
}

TEST(DequantizeIq, IQ2_S) {
  TestBlock b(DType::kIQ2_S);
  b.f16(0, 2.0f);
  // Group 1 of block 6 has signs 10000001, and group 1 of block 2 has row 256 + 3.
  b.set(34 + 25, {0x81}).set(74 + 6, {0x41});
  b.set(2 + 9, {3}).set(66 + 2, {0x04});
  const auto& v = b.values();
  EXPECT_EQ(v[192 + 8], -6.0f);  // 2 * 3 / 8 * 8
  EXPECT_EQ(v[192 + 9], 6.0f);
  EXPECT_EQ(v[192 + 15], -6.0f);
  EXPECT_EQ(v[192 + 16], 18.0f);  // 2 * 9 / 8 * 8
  const float magnitudes[] = {8, 25, 43};
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(v[64 + 8 + i], magnitudes[kGridIq2S[259] >> 2 * i & 3] / 4) << i;
  }
}

TEST(DequantizeIq, IQ3_XXS) {
  TestBlock b(DType::kIQ3_XXS);
  b.f16(0, 0.5f);
  // Elements 12 to 15 of block 5 have row 5; group 1 has the signs 0110000, and s is 7.
  b.set(2 + 40 + 3, {5}).set(66 + 20, {0x00, 0x18, 0x00, 0x70});
  const auto& v = b.values();
  EXPECT_EQ(v[160 + 8], 7.5f);       // 0.5 * 15 / 4 * 4
  EXPECT_EQ(v[160 + 12], -116.25f);  // 0.5 * 15 / 4 * -62
  EXPECT_EQ(v[160 + 13], -22.5f);
  EXPECT_EQ(v[160 + 14], 7.5f);
  EXPECT_EQ(v[0], 0.5f);
}

TEST(DequantizeIq, IQ3_S) {
  TestBlock b(DType::kIQ3_S);
  b.f16(0, 0.5f);
  // Elements 28 to 31 of block 3 have row 4, the signs 1000; block 2 row 256 + 1 in elements 4
  // to 7.
  b.set(2 + 24 + 7, {4}).set(74 + 12 + 3, {0x80}).set(106 + 1, {0x36});
  b.set(2 + 16 + 1, {1}).set(66 + 2, {0x02});
  const auto& v = b.values();
  EXPECT_EQ(v[96 + 28], 52.5f);  // 0.5 * 7 * 15
  EXPECT_EQ(v[96 + 29], 3.5f);
  EXPECT_EQ(v[96 + 31], -3.5f);
  for (size_t i = 0; i < 4; ++i) {  // 0.5 * 13
    EXPECT_EQ(v[64 + 4 + i], 6.5f * static_cast<float>(2 * (kGridIq3S[257] >> 3 * i & 7) + 1)) << i;
  }
  EXPECT_EQ(v[0], 0.5f);
}

TEST(DequantizeIq, IQ1_S) {
  TestBlock b(DType::kIQ1_S);
  b.f16(0, 0.5f);
  // Block 7: group 3 has row 4, s is 5, delta is negative. Block 0: group 1 has row 0x500.
  b.set(2 + 28 + 3, {4}).set(34 + 14, {0x00, 0xd0}).set(34, {0x28, 0x00});
  const auto& v = b.values();
  EXPECT_EQ(v[224 + 24], 4.8125f);   // 0.5 * 11 * (1 - 1 / 8)
  EXPECT_EQ(v[224 + 26], -6.1875f);  // 0.5 * 11 * (-1 - 1 / 8)
  EXPECT_EQ(v[0], -0.4375f);         // 0.5 * (-1 + 1 / 8)
  for (size_t i = 0; i < 8; ++i) {
    const int g = (kGridIq1[0x500] >> 2 * i & 3) - 1;
    EXPECT_EQ(v[8 + i], 0.5f * (static_cast<float>(g) + 0.125f)) << i;
  }
}

TEST(DequantizeIq, IQ1_M) {
  TestBlock b(DType::kIQ1_M);
  // d is 0.5, which is 0x3800, stored in pieces from the lowest bits on. Block 5 has scales 2 and
  // 5.
  b.set(48, {0x00, 0x00, 0x00, 0x00, static_cast<int>(2 << 6 & 255), 0x8a, 0x00, 0x30});
  // Block 5: group 1 has row 4 and a negative delta; group 2 row 0x300 and a positive one.
  b.set(20 + 1, {4}).set(32 + 10, {0x80, 0x03});
  const auto& v = b.values();
  EXPECT_EQ(v[160 + 8], 2.1875f);    // 0.5 * 5 * (1 - 1 / 8)
  EXPECT_EQ(v[160 + 10], -2.8125f);  // 0.5 * 5 * (-1 - 1 / 8)
  EXPECT_EQ(v[160 + 0], -2.1875f);   // 0.5 * 5 * (-1 + 1 / 8)
  EXPECT_EQ(v[160 + 24], -4.8125f);  // 0.5 * 11 * (-1 + 1 / 8)
  EXPECT_EQ(v[0], -0.4375f);
  for (size_t i = 0; i < 8; ++i) {
    const int g = (kGridIq1[0x300] >> 2 * i & 3) - 1;
    EXPECT_EQ(v[160 + 16 + i], 5.5f * (static_cast<float>(g) + 0.125f)) << i;
  }
}

TEST(DequantizeIq, IQ4_XS) {
  TestBlock b(DType::kIQ4_XS);
  // Block 5 has the scale 2 | 3 << 4 = 50, block 4 the scale 1.
  b.f16(0, 0.5f).set(2, {0x00, 0x0c}).set(4 + 2, {0x21});
  b.set(8 + 80 + 3, {0xf0}).set(8 + 64, {0x08});
  const auto& v = b.values();
  EXPECT_EQ(v[160 + 3], -1143.0f);      // 0.5 * 18 * -127
  EXPECT_EQ(v[160 + 16 + 3], 1017.0f);  // 0.5 * 18 * 113
  EXPECT_EQ(v[128], -15.5f);            // 0.5 * -31 * 1
  EXPECT_EQ(v[0], 2032.0f);             // 0.5 * -32 * -127
}

}  // namespace
}  // namespace hearth
