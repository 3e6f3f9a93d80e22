// Blocks are written by hand after the specification; the values that they mean were worked out on
// paper.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "base/fp_types.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Holds the bytes of one block, all zero until set.
class Block {
 public:
  explicit Block(DType dtype)
      : dtype_(dtype),
        bytes_(dtype_info(dtype).block_bytes),
        values_(dtype_info(dtype).block_elements) {}

  Block& f16(size_t offset, float value) {
    f16_t h = f32_to_f16(value);
    bytes_[offset] = static_cast<uint8_t>(h & 255);
    bytes_[offset + 1] = static_cast<uint8_t>(h >> 8);
    return *this;
  }
  Block& set(size_t offset, std::initializer_list<int> bytes) {
    for (int byte : bytes) bytes_[offset++] = static_cast<uint8_t>(byte);
    return *this;
  }
  Block& fill(size_t offset, size_t count, int byte) {
    for (size_t i = 0; i < count; ++i) bytes_[offset + i] = static_cast<uint8_t>(byte);
    return *this;
  }
  const std::vector<float>& values() {
    dequantize_row(dtype_, bytes_.data(), values_.size(), values_.data());
    return values_;
  }

 private:
  DType dtype_;
  std::vector<uint8_t> bytes_;
  std::vector<float> values_;
};

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
  Block b(DType::kQ4_0);
  const auto& v = b.f16(0, 0.5f).set(2, {0xf0, 0x89}).values();
  EXPECT_EQ(v[0], -4.0f);  // (0 - 8) / 2
  EXPECT_EQ(v[16], 3.5f);  // (15 - 8) / 2
  EXPECT_EQ(v[1], 0.5f);   // (9 - 8) / 2
  EXPECT_EQ(v[17], 0.0f);  // 8
  EXPECT_EQ(v[31], -4.0f);
}

TEST(Dequantize, Q4_1) {
  Block b(DType::kQ4_1);
  const auto& v = b.f16(0, 0.25f).f16(2, -1.0f).set(4 + 15, {0x3c}).values();
  EXPECT_EQ(v[15], 2.0f);    // 12 / 4 - 1
  EXPECT_EQ(v[31], -0.25f);  // 3 / 4 - 1
  EXPECT_EQ(v[0], -1.0f);
}

TEST(Dequantize, Q5_0) {
  Block b(DType::kQ5_0);
  // The fifth bits of elements 0 and 17 are set.
  const auto& v = b.f16(0, 2.0f).set(2, {0x01, 0x00, 0x02, 0x00}).set(6, {0x21, 0x43}).values();
  EXPECT_EQ(v[0], 2.0f);     // 16 + 1 - 16
  EXPECT_EQ(v[16], -28.0f);  // 2 - 16
  EXPECT_EQ(v[1], -26.0f);   // 3 - 16
  EXPECT_EQ(v[17], 8.0f);    // 16 + 4 - 16
}

TEST(Dequantize, Q5_1) {
  Block b(DType::kQ5_1);
  const auto& v =
      b.f16(0, 2.0f).f16(2, 0.5f).set(4, {0x00, 0x00, 0x00, 0x80}).set(8 + 15, {0x21}).values();
  EXPECT_EQ(v[15], 2.5f);   // 2 * 1 + 0.5
  EXPECT_EQ(v[31], 36.5f);  // 2 * (16 + 2) + 0.5
}

TEST(Dequantize, Q8_0) {
  Block b(DType::kQ8_0);
  const auto& v = b.f16(0, -0.5f).set(2, {0x80, 0x7f, 0xff}).values();
  EXPECT_EQ(v[0], 64.0f);
  EXPECT_EQ(v[1], -63.5f);
  EXPECT_EQ(v[2], 0.5f);
  EXPECT_EQ(v[3], 0.0f);
}

TEST(Dequantize, Q2_K) {
  Block b(DType::kQ2_K);
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
  Block b(DType::kQ3_K);
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
Block& six_bits(Block& b) {
  return b.set(4, {0x00, 0x2a, 0xc0, 0x00, 0x00, 0x15, 0x80, 0x00, 0x00, 0x00, 0x7c, 0x00});
}

TEST(Dequantize, Q4_K) {
  Block b(DType::kQ4_K);
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
  Block b(DType::kQ5_K);
  six_bits(b).f16(0, 0.5f).f16(2, 0.25f);
  b.set(16 + 31, {0x02});  // fifth bit of element 31 of block 1
  b.set(48 + 31, {0x90});
  b.set(48 + 96 + 3, {0x0b});
  const auto& v = b.values();
  EXPECT_EQ(v[32 + 31], 519.75f);     // 0.5 * 42 * 25 - 0.25 * 21
  EXPECT_EQ(v[6 * 32 + 3], 320.25f);  // 0.5 * 60 * 11 - 0.25 * 39
}

TEST(Dequantize, Q6_K) {
  Block b(DType::kQ6_K);
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
  Block b(DType::kIQ4_NL);
  const auto& v = b.f16(0, 0.5f).set(2, {0xf0, 0x87}).values();
  EXPECT_EQ(v[0], -63.5f);  // -127
  EXPECT_EQ(v[16], 56.5f);  // 113
  EXPECT_EQ(v[1], -5.0f);   // -10
  EXPECT_EQ(v[17], 0.5f);   // 1
}

TEST(Dequantize, MXFP4) {
  Block b(DType::kMXFP4);
  const auto& v = b.set(0, {128}).set(1, {0xf1, 0x8b}).values();
  EXPECT_EQ(v[0], 1.0f);                            // 0.5 * 2
  EXPECT_EQ(v[16], -12.0f);                         // -6 * 2
  EXPECT_EQ(v[1], -3.0f);                           // -1.5 * 2
  EXPECT_EQ(v[17], 0.0f);                           // -0
  EXPECT_EQ(b.set(0, {0}).values()[0], 0x1p-128f);  // 0.5 * 2^-127
  EXPECT_EQ(b.set(0, {1}).values()[0], 0x1p-127f);
  EXPECT_EQ(b.set(0, {2}).values()[0], 0x1p-126f);
}

}  // namespace
}  // namespace hearth
