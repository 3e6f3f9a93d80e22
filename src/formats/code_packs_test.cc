// Tests packs of codes in other quantisers' layouts: values read back from packs, of whole matrices
// and of shards, equal those that the codes stand for.
#include "formats/code_packs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/fp_types.h"
#include "formats/source_rows.h"

namespace hearth {
namespace {

constexpr uint64_t kPackedRows = 40;

// A matrix of random codes, scales and zeros, and a SourceTensor that points to it.
struct CodeMatrix {
  StoredCodes of = {};
  std::vector<std::byte> codes, scales, zeros, groups;
  SourceTensor tensor = {};

  CodeMatrix(uint64_t k, uint64_t group, uint32_t bits, CodeOrder order, CodeValue value,
             ScaleForm scale, ZeroOrder zero_order = ZeroOrder::kNone) {
    of.rows = kPackedRows;
    of.k = k;
    of.bits = bits;
    of.order = order;
    of.value = value;
    of.line_bytes = (k * bits + 7) / 8;
    of.group = group;
    of.groups = (k + group - 1) / group;
    of.scale = scale;
    of.scale_row = of.groups;
    of.scale_group = 1;
    of.zero = 1 << (bits - 1);
    of.zero_order = zero_order;
    std::mt19937 random(11);
    auto fill = [&](std::vector<std::byte>& bytes, size_t size, uint32_t most) {
      for (size_t i = 0; i < size; ++i) {
        bytes.push_back(static_cast<std::byte>(random() % (most + 1)));
      }
    };
    fill(codes, kPackedRows * k * bits / 8 + 4, 255);
    fill(zeros, zero_order == ZeroOrder::kNone ? 0 : kPackedRows * of.groups * bits / 8 + 4, 255);
    for (uint64_t i = 0; i < kPackedRows * of.groups; ++i) add_scale(random);
    of.codes = {codes, 3, 100};
    of.scales.data = scales;
    of.zeros.data = zeros;
    set_run({});
  }
  CodeMatrix(const CodeMatrix&) = delete;

  void set_run(SourceRun run) {
    run.codes = &of;
    tensor.dims = run.transposed ? std::vector<uint64_t>{of.rows, of.k}
                                 : std::vector<uint64_t>{of.k, of.rows};
    tensor.n_elements = of.rows * of.k;
    tensor.type_known = true;
    tensor.dtype = code_dtype(of);
    tensor.runs = {run};
  }
  // Puts column c into group (5 c + 3) % groups; unless `sorted`, without a column order, so that
  // packs cannot sort the columns.
  void set_group_of_columns(bool sorted) {
    std::vector<std::vector<uint32_t>> order(of.groups);
    for (uint64_t c = 0; c < of.k; ++c) {
      const auto group = static_cast<int32_t>((c * 5 + 3) % of.groups);
      order[(c * 5 + 3) % of.groups].push_back(static_cast<uint32_t>(c));
      const auto bytes = std::as_bytes(std::span(&group, 1));
      groups.insert(groups.end(), bytes.begin(), bytes.end());
    }
    of.column_groups.data = groups;
    if (!sorted) return;
    std::vector<uint32_t> all;
    for (const auto& columns : order) all.insert(all.end(), columns.begin(), columns.end());
    of.column_order = std::make_shared<const std::vector<uint32_t>>(std::move(all));
  }

 private:
  template <typename T>
  void put(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    scales.insert(scales.end(), bytes.begin(), bytes.end());
  }
  void add_scale(std::mt19937& random) {
    const float value = static_cast<float>(random() % 1000) / 4096.0f - 0.1f;
    switch (of.scale) {
      case ScaleForm::kF32:
        return put(value);
      case ScaleForm::kF16:
        return put(f32_to_f16(value));
      case ScaleForm::kBF16:
        return put(f32_to_bf16(value));
      default:
        return put(static_cast<uint8_t>(0x20 + random() % 0x5f));
    }
  }
};

struct CodePack {
  PackSpec spec;
  std::vector<std::byte> codes, scales;
};

CodePack pack_codes(const CodeMatrix& matrix, uint32_t row0, uint32_t rows, uint32_t k0,
                    uint32_t k) {
  const PackedType type = codes_packed_type(matrix.tensor);
  EXPECT_NE(type.code_bits, 0u);
  CodePack pack = {pack_spec_for(type, rows, k, k0), {}, {}};
  pack.codes.resize(pack.spec.codes_bytes());
  pack.scales.resize(pack.spec.scales_bytes());
  for (uint32_t panel = 0; panel < pack.spec.panels(); ++panel) {
    const uint32_t row = panel * kPanelRows, count = std::min(kPanelRows, rows - row);
    const CodesReader reader = panel_codes(matrix.tensor, type, row0 + row, count);
    EXPECT_TRUE(reader.has_scales(k0, k0 + k));
    pack_panel(pack.spec, reader, count, panel, pack.codes.data(), pack.scales.data());
  }
  return pack;
}

// Compares a pack with the stored values; with F32 scales the sum of a code and a minimum rounds.
void expect_packed(const CodeMatrix& matrix, PackKind kind, double part = 0) {
  EXPECT_EQ(codes_packed_type(matrix.tensor).kind, kind);
  EXPECT_EQ(reason_for_floats(matrix.tensor), nullptr);
  const auto k = static_cast<uint32_t>(matrix.of.k);
  std::vector<float> row(k), packed(k);
  for (const auto& [k0, width] : {std::pair(0u, k), {96u, k - 96}, {32u, 64u}, {k - 32, 32u}}) {
    const CodePack pack = pack_codes(matrix, 3, 37, k0, width);
    for (uint32_t r = 0; r < 37; ++r) {
      ASSERT_TRUE(matrix.of.values(3 + r, row.data()));
      unpack_row(pack.spec, pack.codes.data(), pack.scales.data(), r, packed.data());
      for (uint32_t c = 0; c < width; ++c) {
        const auto& order = matrix.of.column_order;
        const uint32_t column = order == nullptr ? k0 + c : (*order)[k0 + c];
        ASSERT_NEAR(packed[c], row[column], part) << pack_kind_name(kind) << " " << r << " " << c;
      }
    }
    for (uint32_t r = 37; r < 48; ++r) {
      unpack_row(pack.spec, pack.codes.data(), pack.scales.data(), r, packed.data());
      for (uint32_t c = 0; c < width; ++c) ASSERT_EQ(packed[c], 0);
    }
  }
}

using enum CodeOrder;
using enum CodeValue;

TEST(CodePacks, IntegersOfFourBits) {
  for (ScaleForm scale : {ScaleForm::kF16, ScaleForm::kBF16, ScaleForm::kF32}) {
    for (uint64_t group : {32, 64, 96, 256, 288}) {
      expect_packed({288, group, 4, kAlongRows, kInteger, scale}, PackKind::kL4);
      expect_packed({288, group, 4, kAlongColumns, kInteger, scale}, PackKind::kL4);
      const double part = scale == ScaleForm::kF32 ? 1e-6 : 0;
      CodeMatrix first(288, group, 4, kAlongColumns, kInteger, scale, ZeroOrder::kAlongRows);
      first.of.zero_offset = 1;
      expect_packed(first, PackKind::kL4M, part);
      expect_packed({288, group, 4, kAcrossRows, kInteger, scale, ZeroOrder::kAwq}, PackKind::kL4M,
                    part);
      expect_packed({288, group, 4, kAlongRows, kInteger, scale, ZeroOrder::kDownGroups},
                    PackKind::kL4M, part);
    }
  }
}

TEST(CodePacks, IntegersOfEightBits) {
  for (ScaleForm scale : {ScaleForm::kF16, ScaleForm::kF32}) {
    for (uint64_t group : {64, 128, 160}) {
      expect_packed({160, group, 8, kAlongRows, kSigned, scale}, PackKind::kL8);
      expect_packed({160, group, 8, kAlongColumns, kInteger, scale}, PackKind::kL8);
      const double part = scale == ScaleForm::kF32 ? 1e-5 : 0;
      expect_packed({160, group, 8, kAlongColumns, kInteger, scale, ZeroOrder::kAlongRows},
                    PackKind::kL8M, part);
    }
  }
}

// Packs have columns sorted by group, in whole matrices and in shards; floats keep the stored
// order.
TEST(CodePacks, ColumnsInNoOrderOfGroups) {
  for (const auto& [order, zeros] :
       {std::pair(kAlongColumns, ZeroOrder::kAlongRows), {kAlongRows, ZeroOrder::kDownGroups}}) {
    for (uint32_t bits : {4u, 8u}) {
      CodeMatrix matrix(192, 64, bits, order, kInteger, ScaleForm::kF16, zeros);
      matrix.set_group_of_columns(true);
      expect_packed(matrix, bits == 4 ? PackKind::kL4M : PackKind::kL8M);
      std::vector<std::byte> scratch(scratch_bytes(matrix.tensor, DType::kF32));
      std::vector<float> row(192);
      PanelRows rows;
      ASSERT_TRUE(panel_rows(matrix.tensor, DType::kF32, 7, 1, scratch.data(), &rows));
      ASSERT_TRUE(matrix.of.values(7, row.data()));
      EXPECT_EQ(std::memcmp(rows[0], row.data(), row.size() * sizeof(float)), 0);
    }
  }
}

TEST(CodePacks, FloatsOfFourBits) {
  expect_packed({192, 32, 4, kAlongRows, kE2M1, ScaleForm::kE8M0}, PackKind::kL4);
  CodeMatrix halves(192, 16, 4, kAlongRows, kE2M1, ScaleForm::kE4M3);
  for (bool divided : {false, true}) {
    halves.of.factor = 4;
    halves.of.divided = divided;
    expect_packed(halves, PackKind::kL4H);
  }
}

TEST(CodePacks, Mxfp4IsPackedAsThatOfGguf) {
  const CodeMatrix matrix(192, 32, 4, kAlongRows, kE2M1, ScaleForm::kE8M0);
  std::vector<std::byte> blocks;
  for (uint64_t b = 0; b < kPackedRows * 6; ++b) {
    uint8_t codes[kBlock];
    matrix.of.read(b / 6, b % 6, codes);
    blocks.push_back(matrix.scales[b]);
    for (size_t i = 0; i < 16; ++i) {
      blocks.push_back(static_cast<std::byte>(codes[i] | codes[16 + i] << 4));
    }
  }
  const CodePack codes = pack_codes(matrix, 0, kPackedRows, 0, 192);
  CodePack gguf = {pack_spec_for(DType::kMXFP4, kPackedRows, 192), {}, {}};
  EXPECT_EQ(gguf.spec.form, codes.spec.form);
  gguf.codes.resize(gguf.spec.codes_bytes());
  gguf.scales.resize(gguf.spec.scales_bytes());
  pack_panels(gguf.spec, DType::kMXFP4, blocks.data(), 6 * 17, 0, gguf.spec.panels(),
              gguf.codes.data(), gguf.scales.data());
  EXPECT_EQ(gguf.codes, codes.codes);
  EXPECT_EQ(gguf.scales, codes.scales);
}

// Expects that the tensor's rows are read as floats of type `as`, since no pack takes the codes for
// this reason.
void expect_code_floats(const CodeMatrix& matrix, const char* reason, DType as = DType::kF32) {
  EXPECT_STREQ(reason_for_floats(matrix.tensor), reason);
  const PackedType type = codes_packed_type(matrix.tensor);
  EXPECT_EQ(type, PackedType(as));
  std::vector<std::byte> scratch(scratch_bytes(matrix.tensor, as));
  const uint64_t k = matrix.tensor.dims[0];
  const bool turned = matrix.tensor.runs[0].transposed;
  std::vector<float> want(matrix.of.k), got(k);
  for (uint64_t row = 0; row + 5 <= matrix.tensor.rows(); row += 5) {
    PanelRows rows;
    ASSERT_TRUE(panel_rows(matrix.tensor, as, row, 5, scratch.data(), &rows));
    for (uint64_t r = 0; r < 5; ++r) {
      dequantize_row(as, rows[r], k, got.data());
      for (uint64_t c = 0; c < k; ++c) {
        ASSERT_TRUE(matrix.of.values(turned ? c : row + r, want.data()));
        const float value = want[turned ? row + r : c];
        ASSERT_TRUE(got[c] == value || std::isnan(got[c] + value)) << row + r << " " << c;
      }
    }
  }
}

TEST(CodePacks, RowsAsFloats) {
  const auto f16 = ScaleForm::kF16;
  CodeMatrix order(64, 32, 4, kAlongColumns, kInteger, f16, ZeroOrder::kAlongRows);
  order.set_group_of_columns(false);
  expect_code_floats(order, "groups of columns have different sizes");
  expect_code_floats({96, 48, 4, kAlongRows, kInteger, f16},
                     "the length of column groups is not a multiple of 32");
  expect_code_floats({40, 40, 8, kAlongRows, kSigned, f16},
                     "the length of rows is not a multiple of 32");
  CodeMatrix wide(64, 32, 8, kAlongColumns, kInteger, f16, ZeroOrder::kAlongRows);
  wide.of.zero_offset = 1;
  wide.of.wide_zeros = true;
  expect_code_floats(wide, "a zero point is 256");
  CodeMatrix turned(64, 32, 4, kAlongRows, kE2M1, ScaleForm::kE8M0);
  SourceRun run = {};
  run.transposed = true;
  turned.set_run(run);
  expect_code_floats(turned, "the matrix is transposed");
  expect_code_floats({64, 32, 8, kAlongRows, kE4M3, ScaleForm::kE8M0}, nullptr, DType::kBF16);
}

TEST(CodePacks, MatricesThatAreStoredInDifferentWays) {
  const CodeMatrix a(64, 32, 4, kAlongRows, kInteger, ScaleForm::kF16),
      b(64, 32, 4, kAlongRows, kInteger, ScaleForm::kBF16),
      c(64, 32, 4, kAlongRows, kInteger, ScaleForm::kF16, ZeroOrder::kDownGroups);
  SourceTensor tensor = a.tensor;
  tensor.runs.push_back(b.tensor.runs[0]);
  EXPECT_STREQ(reason_for_floats(tensor), "experts are stored in different ways");
  CodeMatrix turned(64, 32, 4, kAlongRows, kInteger, ScaleForm::kF16);
  turned.set_group_of_columns(true);
  tensor.runs[1] = turned.tensor.runs[0];
  EXPECT_STREQ(reason_for_floats(tensor),
               "its parts have their columns in different orders of groups");
  tensor.dims.push_back(2);  // two experts
  tensor.n_elements *= 2;
  EXPECT_EQ(reason_for_floats(tensor), nullptr);
  const uint64_t rows = tensor.run_rows();
  EXPECT_EQ(column_order_at(tensor, rows - 1), nullptr);
  EXPECT_EQ(column_order_at(tensor, rows), turned.tensor.runs[0].codes->column_order);
  tensor.runs[1] = c.tensor.runs[0];
  EXPECT_EQ(codes_packed_type(tensor).kind, PackKind::kL4M) << "the other's zeros are all 8";
}

TEST(CodePacks, ScalesThatAreNone) {
  auto good = [](CodeValue value, ScaleForm form, uint8_t scale) {
    CodeMatrix matrix(64, 16, 4, kAlongRows, value, form);
    matrix.scales[5] = std::byte{scale};  // the scale of row 1's columns from 16 on
    const CodesReader reader = panel_codes(matrix.tensor, codes_packed_type(matrix.tensor), 0, 16);
    EXPECT_TRUE(reader.has_scales(32, 64));
    std::vector<float> row(64);
    EXPECT_EQ(reader.has_scales(0, 32), matrix.of.values(1, row.data()));
    return reader.has_scales(0, 32);
  };
  EXPECT_TRUE(good(kE2M1, ScaleForm::kE4M3, 0x7e));
  EXPECT_FALSE(good(kE2M1, ScaleForm::kE4M3, 0x7f));
  EXPECT_FALSE(good(kE2M1, ScaleForm::kE4M3, 0x81));
  EXPECT_FALSE(good(kE2M1, ScaleForm::kE8M0, 0xff));
}

// Checks the file ranges that are released once rows are packed: only those rows' own bytes if rows
// are contiguous, else those of the whole matrix.
TEST(CodePacks, PlacesInFiles) {
  const CodeMatrix along(64, 32, 4, kAlongRows, kInteger, ScaleForm::kF16),
      down(64, 32, 4, kAlongColumns, kInteger, ScaleForm::kF16);
  const FileRange rows = run_range(along.tensor, 0, 3, 5), all = run_range(down.tensor, 0, 3, 5);
  EXPECT_EQ(rows.part, 3u);
  EXPECT_EQ(rows.offset, 100 + 3 * 32u);
  EXPECT_EQ(rows.bytes, 5 * 32u);
  EXPECT_EQ(all.part, 3u);
  EXPECT_EQ(all.offset, 100u);
  EXPECT_EQ(all.bytes, down.codes.size());
}

}  // namespace
}  // namespace hearth
