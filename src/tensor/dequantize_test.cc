// The blocks are written by hand from the specification, and their values were computed on paper.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/dtype.h"
#include "tensor/test_block.h"

namespace hearth {
namespace {

TEST(Dequantize, PlainTypes) {
  const float f32[2] = {1.5f, -0.0f};
  const uint16_t f16[3] = {0x3c00, 0xc100, 0x0001};
  const uint16_t bf16[2] = {0x3fc0, 0xff80};
  float out[3];
  dequantize_row(DType::kF32, f32, 2, out);
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_TRUE(std::signbit(out[1]));
  dequantize_row(DType::kF16, f16, 3, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.5f);
  EXPECT_EQ(out[2], 0x1p-24f);
  dequantize_row(DType::kBF16, bf16, 2, out);
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_EQ(out[1], -std::numeric_limits<float>::infinity());
}

TEST(Dequantize, Q4_0) {
  TestBlock b(DType::kQ4_0);
  const auto& v = b.f16(0, 0.5f).set(2, {0xf0, 0x89}).values();
  EXPECT_EQ(v[0], -4.0f);  // (0 - 8) / 2
  EXPECT_EQ(v[16], 3.5f);  // (15 - 8) / 2
  EXPECT_EQ(v[1], 0.5f);   // (9 - 8) / 2
  EXPECT_EQ(v[17], 0.0f);  // 8
  EXPECT_EQ(v[31], -4.0f);
}

TEST(Dequantize, Q4_1) {
  TestBlock b(DType::kQ4_1);
  const auto& v = b.f16(0, 0.25f).f16(2, -1.0f).set(4 + 15, {0x3c}).values();
  EXPECT_EQ(v[15], 2.0f);    // 12 / 4 - 1
  EXPECT_EQ(v[31], -0.25f);  // 3 / 4 - 1
  EXPECT_EQ(v[0], -1.0f);
}

TEST(Dequantize, Q5_0) {
  TestBlock b(DType::kQ5_0);
  // The fifth bits of elements 0 and 17 are set.
  const auto& v = b.f16(0, 2.0f).set(2, {0x01, 0x00, 0x02, 0x00}).set(6, {0x21, 0x43}).values();
  EXPECT_EQ(v[0], 2.0f);     // 16 + 1 - 16
  EXPECT_EQ(v[16], -28.0f);  // 2 - 16
  EXPECT_EQ(v[1], -26.0f);   // 3 - 16
  EXPECT_EQ(v[17], 8.0f);    // 16 + 4 - 16
}

TEST(Dequantize, Q5_1) {
  TestBlock b(DType::kQ5_1);
  const auto& v =
      b.f16(0, 2.0f).f16(2, 0.5f).set(4, {0x00, 0x00, 0x00, 0x80}).set(8 + 15, {0x21}).values();
  EXPECT_EQ(v[15], 2.5f);   // 2 * 1 + 0.5
  EXPECT_EQ(v[31], 36.5f);  // 2 * (16 + 2) + 0.5
}

TEST(Dequantize, Q8_0) {
  TestBlock b(DType::kQ8_0);
  const auto& v = b.f16(0, -0.5f).set(2, {0x80, 0x7f, 0xff}).values();
  EXPECT_EQ(v[0], 64.0f);
  EXPECT_EQ(v[1], -63.5f);
  EXPECT_EQ(v[2], 0.5f);
  EXPECT_EQ(v[3], 0.0f);
}

TEST(Dequantize, Q2_K) {
  TestBlock b(DType::kQ2_K);
  b.f16(80, 2.0f).f16(82, 0.5f);
  b.set(5, {0x43});        // block 2, second half: scale 3, min 4
  b.set(12, {0xf1});       // block 6, first half: scale 1, min 15
  b.set(16 + 17, {0x30});  // element 17 of blocks 0..3: codes 0 0 3 0
  b.set(16 + 32, {0x20});  // element 0 of blocks 4..7: codes 0 0 2 0
  const auto& v = b.values();
  EXPECT_EQ(v[2 * 32 + 17], 16.0f);  // 2 * 3 * 3 - 0.5 * 4
  EXPECT_EQ(v[2 * 32 + 16], -2.0f);
  EXPECT_EQ(v[2 * 32 + 15], 0.0f);
  EXPECT_EQ(v[6 * 32], -3.5f);  // 2 * 1 * 2 - 0.5 * 15
  EXPECT_EQ(v[4 * 32], 0.0f);
}

TEST(Dequantize, Q3_K) {
  TestBlock b(DType::kQ3_K);
  b.f16(108, 0.5f);
  // Number i of 6 bits: 0 is low 15, high 1 = 31; 9 (block 4, second half) is low 2, high 3 = 50.
  b.set(96, {0x0f, 0x20}).set(104, {0x01, 0x30});
  b.set(0, {0x01});        // third bit of element 0 of block 0
  b.set(16, {0x10});       // third bit of element 16 of block 4
  b.set(32, {0x03});       // element 0 of block 0: code 3
  b.set(64 + 16, {0x02});  // element 16 of block 4: code 2
  const auto& v = b.values();
  EXPECT_EQ(v[0], -1.5f);             // 0.5 (31 - 32) 3
  EXPECT_EQ(v[1], 2.0f);              // 0.5 (31 - 32) (0 - 4)
  EXPECT_EQ(v[4 * 32 + 16], 18.0f);   // 0.5 (50 - 32) 2
  EXPECT_EQ(v[4 * 32 + 17], -36.0f);  // 0.5 (50 - 32) (0 - 4)
  EXPECT_EQ(v[7 * 32], 64.0f);        // 0.5 (0 - 32) (0 - 4)
}

// Sets 6-bit numbers of Q4_K and Q5_K: block 1 has scale 0x2a, min 0x15; block 6 scale 0x3c, min
// 0x27.
TestBlock& six_bits(TestBlock& b) {
  return b.set(4, {0x00, 0x2a, 0xc0, 0x00, 0x00, 0x15, 0x80, 0x00, 0x00, 0x00, 0x7c, 0x00});
}

TEST(Dequantize, Q4_K) {
  TestBlock b(DType::kQ4_K);
  six_bits(b).f16(0, 0.5f).f16(2, 0.25f);
  b.set(16 + 31, {0x90});      // element 31 of blocks 0 and 1
  b.set(16 + 96 + 3, {0x0b});  // element 3 of blocks 6 and 7
  const auto& v = b.values();
  EXPECT_EQ(v[32 + 31], 183.75f);  // 0.5 * 42 * 9 - 0.25 * 21
  EXPECT_EQ(v[32], -5.25f);
  EXPECT_EQ(v[6 * 32 + 3], 320.25f);  // 0.5 * 60 * 11 - 0.25 * 39
  EXPECT_EQ(v[7 * 32 + 3], 0.0f);
}

TEST(Dequantize, Q5_K) {
  TestBlock b(DType::kQ5_K);
  six_bits(b).f16(0, 0.5f).f16(2, 0.25f);
  b.set(16 + 31, {0x02});  // fifth bit of element 31 of block 1
  b.set(48 + 31, {0x90});
  b.set(48 + 96 + 3, {0x0b});
  const auto& v = b.values();
  EXPECT_EQ(v[32 + 31], 519.75f);     // 0.5 * 42 * 25 - 0.25 * 21
  EXPECT_EQ(v[6 * 32 + 3], 320.25f);  // 0.5 * 60 * 11 - 0.25 * 39
}

TEST(Dequantize, Q6_K) {
  TestBlock b(DType::kQ6_K);
  b.f16(208, 0.5f).fill(192, 16, 1).set(192 + 13, {-100});
  // Block 6 lies in the second half of 128: high nibbles of ql[64..96), bits 4..5 of qh[32..64).
  b.set(64 + 20, {0xa0}).set(128 + 32 + 20, {0x20});
  b.set(32 + 7, {0x05}).set(128 + 7, {0x0c});  // block 1
  const auto& v = b.values();
  EXPECT_EQ(v[6 * 32 + 20], -500.0f);  // 0.5 * -100 * (10 + 32 - 32)
  EXPECT_EQ(v[32 + 7], 10.5f);         // 0.5 * (5 + 48 - 32)
  EXPECT_EQ(v[0], -16.0f);
}

TEST(Dequantize, IQ4_NL) {
  TestBlock b(DType::kIQ4_NL);
  const auto& v = b.f16(0, 0.5f).set(2, {0xf0, 0x87}).values();
  EXPECT_EQ(v[0], -63.5f);  // -127
  EXPECT_EQ(v[16], 56.5f);  // 113
  EXPECT_EQ(v[1], -5.0f);   // -10
  EXPECT_EQ(v[17], 0.5f);   // 1
}

TEST(Dequantize, MXFP4) {
  TestBlock b(DType::kMXFP4);
  const auto& v = b.set(0, {128}).set(1, {0xf1, 0x8b}).values();
  EXPECT_EQ(v[0], 1.0f);                            // 0.5 * 2
  EXPECT_EQ(v[16], -12.0f);                         // -6 * 2
  EXPECT_EQ(v[1], -3.0f);                           // -1.5 * 2
  EXPECT_EQ(v[17], 0.0f);                           // -0
  EXPECT_EQ(b.set(0, {0}).values()[0], 0x1p-128f);  // 0.5 * 2^-127
  EXPECT_EQ(b.set(0, {1}).values()[0], 0x1p-127f);
  EXPECT_EQ(b.set(0, {2}).values()[0], 0x1p-126f);
}

TEST(Dequantize, NVFP4) {
  TestBlock b(DType::kNVFP4);
  // The scales of elements 0, 16, 32, 48: 1, 1.125 * 2, the smallest, the largest.
  b.set(0, {0x38, 0x41, 0x01, 0x7e});
  b.set(4, {0xf1, 0x8b}).set(4 + 8 + 7, {0x24}).set(4 + 24, {0x07});
  const auto& v = b.values();
  EXPECT_EQ(v[0], 0.5f);
  EXPECT_EQ(v[8], -6.0f);
  EXPECT_EQ(v[1], -1.5f);
  EXPECT_EQ(v[9], 0.0f);                                    // -0
  EXPECT_EQ(v[16 + 7], 4.5f);                               // 2 * 2.25
  EXPECT_EQ(v[16 + 15], 2.25f);                             // 1 * 2.25
  EXPECT_EQ(v[48], 2688.0f);                                // 6 * 448
  EXPECT_EQ(b.set(4 + 16, {0x01}).values()[32], 0x1p-10f);  // 0.5 * 2^-9
  b.set(0, {0x7f});
  EXPECT_TRUE(std::isnan(b.values()[0]));
  EXPECT_EQ(b.values()[16 + 7], 4.5f);
}

TEST(Dequantize, TQ1_0) {
  TestBlock b(DType::kTQ1_0);
  b.f16(52, 0.5f).fill(0, 52, 0x80);  // 128 / 256 is 0.1111... in base 3: all values are 0
  // The digits 0.20212 in base 3 are 185 / 243; the byte that stores them is
  // ceil(185 * 256 / 243) = 195. The digits 0.0220 are 24 / 81, stored as 76.
  b.set(3, {195}).set(32 + 15, {195}).set(48 + 2, {76});
  const auto& v = b.values();
  const float digits[] = {0.5f, -0.5f, 0.5f, 0.0f, 0.5f};
  for (size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(v[32 * n + 3], digits[n]) << n;
    EXPECT_EQ(v[32 * n + 4], 0.0f) << n;
    EXPECT_EQ(v[160 + 16 * n + 15], digits[n]) << n;
    EXPECT_EQ(v[160 + 16 * n], 0.0f) << n;
  }
  EXPECT_EQ(v[240 + 2], -0.5f);
  EXPECT_EQ(v[244 + 2], 0.5f);
  EXPECT_EQ(v[248 + 2], 0.5f);
  EXPECT_EQ(v[252 + 2], -0.5f);
  EXPECT_EQ(v[252 + 3], 0.0f);
}

TEST(Dequantize, TQ2_0) {
  TestBlock b(DType::kTQ2_0);
  // Element 5 of blocks 0 to 3 has codes 2 1 0 3, of blocks 4 to 7 1 1 2 0.
  const auto& v = b.f16(64, 0.25f).set(5, {0xc6}).set(32 + 5, {0x25}).values();
  EXPECT_EQ(v[5], 0.25f);
  EXPECT_EQ(v[32 + 5], 0.0f);
  EXPECT_EQ(v[64 + 5], -0.25f);
  EXPECT_EQ(v[96 + 5], 0.5f);
  EXPECT_EQ(v[128 + 5], 0.0f);
  EXPECT_EQ(v[192 + 5], 0.25f);
  EXPECT_EQ(v[224 + 5], -0.25f);
  EXPECT_EQ(v[0], -0.25f);
}

TEST(Dequantize, Q1_0) {
  TestBlock b(DType::kQ1_0);
  const auto& v = b.f16(0, 0.5f).set(2 + 15, {0x81}).values();
  EXPECT_EQ(v[119], -0.5f);
  EXPECT_EQ(v[120], 0.5f);
  EXPECT_EQ(v[121], -0.5f);
  EXPECT_EQ(v[127], 0.5f);
}

TEST(Dequantize, Q2_0) {
  TestBlock b(DType::kQ2_0);
  const auto& v = b.f16(0, 0.5f).set(2 + 9, {0xe4}).values();  // codes 0 1 2 3
  EXPECT_EQ(v[36], -0.5f);
  EXPECT_EQ(v[37], 0.0f);
  EXPECT_EQ(v[38], 0.5f);
  EXPECT_EQ(v[39], 1.0f);
  EXPECT_EQ(v[40], -0.5f);
}

}  // namespace
}  // namespace hearth
