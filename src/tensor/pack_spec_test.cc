#include "tensor/pack_spec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tensor/code_block.h"
#include "tensor/test_block.h"

namespace hearth {
namespace {

using Bytes = std::vector<std::byte>;

// Holds a tensor of random bytes whose scales are finite, of both signs, some zero or subnormal.
struct Tensor {
  DType dtype;
  uint32_t rows, k;
  size_t stride;
  Bytes bytes;

  Tensor(DType type, uint32_t n, uint32_t columns, uint32_t seed)
      : dtype(type),
        rows(n),
        k(columns),
        stride(row_bytes(type, columns)),
        bytes(random_blocks(type, n * stride, seed)) {}

  std::vector<float> row(uint32_t r) const {
    std::vector<float> values(k);
    dequantize_row(dtype, bytes.data() + r * stride, k, values.data());
    return values;
  }
};

struct Packed {
  PackSpec spec;
  Bytes codes, scales;

  std::vector<float> row(uint32_t r) const {
    std::vector<float> values(spec.k, -1.0f);
    unpack_row(spec, codes.data(), scales.data(), r, values.data());
    return values;
  }
};

Packed make_packed(const PackSpec& spec) {
  return {spec, Bytes(spec.codes_bytes(), std::byte{0xa5}),
          Bytes(spec.scales_bytes(), std::byte{0xa5})};
}

Packed pack(const Tensor& t, uint32_t row0, uint32_t rows, uint32_t k0, uint32_t k) {
  Packed p = make_packed(pack_spec_for(t.dtype, rows, k, k0));
  pack_panels(p.spec, t.dtype, t.bytes.data() + row0 * t.stride, t.stride, 0, p.spec.panels(),
              p.codes.data(), p.scales.data());
  return p;
}

bool same_bits(const float* a, const float* b, size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

void expect_rows(const Tensor& t, const Packed& p, uint32_t row0) {
  for (uint32_t r = 0; r < p.spec.rows; ++r) {
    std::vector<float> want = t.row(row0 + r);
    EXPECT_TRUE(same_bits(p.row(r).data(), want.data() + p.spec.k_origin, p.spec.k))
        << dtype_info(t.dtype).name << " row " << r << " origin " << p.spec.k_origin;
  }
}

class PackTest : public testing::TestWithParam<DType> {
 protected:
  bool plain() const { return dtype_info(GetParam()).block_elements == 1; }
};

TEST_P(PackTest, RowsComeBackForEveryRowCount) {
  for (uint32_t rows : {1u, 15u, 16u, 17u, 40u}) {
    Tensor t(GetParam(), rows, 512, rows);
    expect_rows(t, pack(t, 0, rows, 0, 512), 0);
  }
}

TEST_P(PackTest, RowsComeBackFromEveryCut) {
  Tensor t(GetParam(), 37, 768, 1);
  for (uint32_t begin = 0; begin < 768; begin += kBlock) {
    for (uint32_t end = begin + kBlock; end <= 768; end += kBlock) {
      Packed p = pack(t, 5, 19, begin, end - begin);
      EXPECT_EQ(p.spec.codes_panel_bytes() % 64, 0u);
      EXPECT_EQ(p.spec.scales_panel_bytes() % 64, 0u);
      std::vector<float> want = t.row(5 + 18);
      EXPECT_TRUE(same_bits(p.row(18).data(), want.data() + begin, end - begin))
          << begin << " to " << end;
    }
    expect_rows(t, pack(t, 5, 19, begin, 768 - begin), 5);
  }
}

TEST_P(PackTest, PaddingIsZero) {
  const uint32_t k = plain() ? 75 : 512;
  Tensor t(GetParam(), 19, k, 3);
  Packed p = pack(t, 0, 19, 0, k);
  // Padding is read back too, through a shard of whole panels and blocks.
  p.spec.rows = 32;
  p.spec.k = (k + kBlock - 1) / kBlock * kBlock;
  for (uint32_t r = 0; r < 32; ++r) {
    std::vector<float> row = p.row(r);
    for (uint32_t j = r < 19 ? k : 0; j < p.spec.k; ++j) EXPECT_EQ(row[j], 0.0f) << r << " " << j;
  }
}

TEST_P(PackTest, DisjointPanelsMakeTheWhole) {
  Tensor t(GetParam(), 75, 512, 4);
  Packed whole = pack(t, 0, 75, 32, 480);
  Packed parts = make_packed(whole.spec);
  for (uint32_t panel : {3u, 0u, 4u}) {
    uint32_t count = panel == 0 ? 3 : 1;
    pack_panels(parts.spec, t.dtype, t.bytes.data(), t.stride, panel, count, parts.codes.data(),
                parts.scales.data());
  }
  EXPECT_EQ(whole.codes, parts.codes);
  EXPECT_EQ(whole.scales, parts.scales);
}

TEST_P(PackTest, ReadsNothingOutsideTheRows) {
  // The last row ends where the buffer ends, so that a sanitizer sees a read beyond it.
  Tensor t(GetParam(), 3, 512, 5);
  Bytes exact(t.bytes);
  exact.shrink_to_fit();
  Packed p = make_packed(pack_spec_for(t.dtype, 1, 512));
  pack_panels(p.spec, t.dtype, exact.data() + 2 * t.stride, t.stride, 0, 1, p.codes.data(),
              p.scales.data());
  EXPECT_TRUE(same_bits(p.row(0).data(), t.row(2).data(), 512));
}

std::vector<DType> every_dtype() {
  std::vector<DType> types;
  // pack_fp8_test.cc tests FP8, whose scales are a tensor of their own.
  for (DType dtype : all_dtypes()) {
    if (pack_kind_info(pack_kind_for(dtype)).pack != nullptr) types.push_back(dtype);
  }
  return types;
}

std::string test_name(const testing::TestParamInfo<DType>& test) {
  return std::string(dtype_info(test.param).name);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, PackTest, testing::ValuesIn(every_dtype()), test_name);

TEST(PackSpec, PlainTypesMayHaveRaggedK) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (uint32_t k : {1u, 31u, 33u, 75u}) {
      Tensor t(dtype, 18, k, k);
      expect_rows(t, pack(t, 0, 18, 0, k), 0);
      if (k > kBlock) expect_rows(t, pack(t, 0, 18, kBlock, k - kBlock), 0);
    }
  }
}

TEST(PackSpec, SizesAndSupers) {
  const PackSpec spec{PackKind::kQ4_K, 33, 320, 224};
  EXPECT_EQ(spec.panels(), 3u);
  EXPECT_EQ(spec.blocks(), 10u);
  EXPECT_EQ(spec.super_offset(), 7u);
  EXPECT_EQ(spec.supers(), 3u);  // 1 + 8 + 1 blocks
  EXPECT_EQ(spec.codes_panel_bytes(), 2560u);
  EXPECT_EQ(spec.scales_panel_bytes(), 512u);
  EXPECT_EQ((PackSpec{PackKind::kQ8_0, 16, 96, 0}.scales_panel_bytes()), 128u);
  EXPECT_EQ((PackSpec{PackKind::kF32, 16, 96, 0}.scales_panel_bytes()), 0u);
}

// Gives a tensor's decoded blocks, from row `first` on.
class DecodedRows final : public BlockReader {
 public:
  DecodedRows(const Tensor& tensor, uint32_t first) : tensor_(tensor), first_(first) {}
  void read(size_t r, size_t block, CodeBlock& out) const override {
    const DTypeInfo& info = dtype_info(tensor_.dtype);
    const size_t parts = info.block_elements / kBlock;
    const std::byte* row = tensor_.bytes.data() + (first_ + r) * tensor_.stride;
    info.decode(row + block / parts * info.block_bytes, static_cast<uint32_t>(block % parts), out);
  }
  float scale(size_t) const override { return 3; }

 private:
  const Tensor& tensor_;
  uint32_t first_;
};

TEST(PackSpec, AReaderOfBlocksMakesTheSamePanels) {
  for (DType dtype : {DType::kQ4_1, DType::kMXFP4, DType::kNVFP4, DType::kQ3_K, DType::kTQ2_0}) {
    const Tensor t(dtype, 21, 768, 13);
    const PackSpec spec = pack_spec_for(dtype, 21, 512, 96);
    Packed rows = make_packed(spec), read = make_packed(spec);
    pack_panels(spec, dtype, t.bytes.data(), t.stride, 0, 2, rows.codes.data(), rows.scales.data(),
                3);
    for (uint32_t panel = 0; panel < 2; ++panel) {
      pack_panel(spec, DecodedRows(t, 16 * panel), panel == 0 ? 16 : 5, panel, read.codes.data(),
                 read.scales.data());
    }
    EXPECT_EQ(rows.codes, read.codes) << dtype_info(dtype).name;
    EXPECT_EQ(rows.scales, read.scales) << dtype_info(dtype).name;
  }
}

// These tests check the layout itself, byte by byte, for an element in the middle of each kind.
TEST(PackSpec, Q8_0BytesLieWhereTheTableSays) {
  Tensor t(DType::kQ8_0, 32, 64, 6);
  Packed p = pack(t, 0, 32, 0, 64);
  // Row 21 is lane 5 of panel 1; element 45 is group 3, byte 1 of block 1.
  std::byte code = t.bytes[21 * t.stride + 34 + 2 + 13];
  EXPECT_EQ(p.codes[1024 + 512 + (3 * 16 + 5) * 4 + 1], code ^ std::byte{0x80});
  EXPECT_EQ(std::memcmp(&p.scales[64 + 32 + 2 * 5], &t.bytes[21 * t.stride + 34], 2), 0);
}

TEST(PackSpec, Q4_0BytesLieWhereTheTableSays) {
  Tensor t(DType::kQ4_0, 16, 32, 7);
  Packed p = pack(t, 0, 16, 0, 32);
  // Byte 6 of row 9 holds elements 6 and 22: groups 1 and 5.
  EXPECT_EQ(p.codes[(1 * 16 + 9) * 4 + 2], t.bytes[9 * t.stride + 2 + 6]);
}

TEST(PackSpec, Q5_KBitsLieWhereTheTableSays) {
  Tensor t(DType::kQ5_K, 16, 256, 12);
  Packed p = pack(t, 0, 16, 0, 256);
  // Element 25 (group 6) of block 1 of row 3 has its low bits in qs[25], its high one in bit 1 of
  // qh[25].
  auto file = [&](size_t i) { return std::to_integer<uint32_t>(t.bytes[3 * t.stride + i]); };
  auto packed = [&](size_t i) { return std::to_integer<uint32_t>(p.codes[320 + i]); };
  EXPECT_EQ(packed((2 * 16 + 3) * 4 + 1) >> 4, file(48 + 25) >> 4);
  EXPECT_EQ(packed(256 + 3 * 4 + 1) >> 6 & 1, file(16 + 25) >> 1 & 1);
  EXPECT_EQ(std::memcmp(&p.scales[32 + 2 * 3], &t.bytes[3 * t.stride + 2], 2), 0);  // dmin
}

TEST(PackSpec, Q6_KBitsLieWhereTheTableSays) {
  Tensor t(DType::kQ6_K, 16, 256, 8);
  Packed p = pack(t, 0, 16, 0, 256);
  // Element 25 (group 6) of block 1 of row 2 has its low bits in ql[32 + 25], its high ones in bits
  // 2.. of qh[25].
  auto file = [&](size_t i) { return std::to_integer<uint32_t>(t.bytes[2 * t.stride + i]); };
  auto packed = [&](size_t i) { return std::to_integer<uint32_t>(p.codes[384 + i]); };
  EXPECT_EQ(packed((2 * 16 + 2) * 4 + 1) >> 4, file(32 + 25) & 15);
  EXPECT_EQ(packed(256 + (1 * 16 + 2) * 4 + 1) >> 4 & 3, file(128 + 25) >> 2 & 3);
  EXPECT_EQ(p.scales[32 + 32 + 16 + 2], t.bytes[2 * t.stride + 192 + 3]);
}

TEST(PackSpec, PlainElementsLieWhereTheTableSays) {
  Tensor f16(DType::kF16, 16, 32, 9);
  EXPECT_EQ(pack(f16, 0, 16, 0, 32).codes[(13 * 16 + 7) * 2], f16.bytes[7 * f16.stride + 13 * 2]);
  Tensor bf16(DType::kBF16, 16, 32, 10);
  EXPECT_EQ(pack(bf16, 0, 16, 0, 32).codes[(6 * 16 + 7) * 4 + 2],
            bf16.bytes[7 * bf16.stride + 13 * 2]);
  Tensor f32(DType::kF32, 16, 32, 11);
  EXPECT_EQ(pack(f32, 0, 16, 0, 32).codes[(13 * 16 + 7) * 4], f32.bytes[7 * f32.stride + 13 * 4]);
}

}  // namespace
}  // namespace hearth
