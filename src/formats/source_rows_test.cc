#include "formats/source_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/fp_types.h"
#include "tensor/fit_fp8.h"
#include "tensor/quantize_row.h"

namespace hearth {
namespace {

const PackedType kShared = DType::kF8E4M3;
const PackedType kOfRows = {DType::kF8E4M3, PackKind::kFP8R};

// A stored matrix whose bytes tell their position, with bf16 scales that all differ.
struct Store {
  uint64_t rows, k;
  DType dtype;
  std::vector<std::byte> bytes;
  std::vector<bf16_t> scales;
  // How many rows and columns share a scale.
  uint64_t rows_a_scale, columns_a_scale;
  uint64_t scale_rows = (rows + rows_a_scale - 1) / rows_a_scale;
  uint64_t scale_columns = (k + columns_a_scale - 1) / columns_a_scale;

  Store(uint64_t n, uint64_t columns, DType type, uint64_t scale_height = 128,
        uint64_t scale_width = 128)
      : rows(n),
        k(columns),
        dtype(type),
        bytes(n * row_bytes(type, columns)),
        rows_a_scale(scale_height),
        columns_a_scale(scale_width) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i * 37) % 120);
    for (uint64_t i = 0; i < scale_rows * scale_columns; ++i) {
      scales.push_back(f32_to_bf16(0.001f * static_cast<float>(i + 1)));
    }
  }

  SourceRun run(uint64_t first) {
    SourceRun run;
    run.stored = {dtype, rows, k, bytes, 0, 1000};
    run.scales = {DType::kBF16,
                  scale_rows,
                  scale_columns,
                  std::as_bytes(std::span<const bf16_t>(scales)),
                  0,
                  0};
    run.first = first;
    return run;
  }

  float value(uint64_t row, uint64_t column) const {
    float out;
    const size_t size = dtype_info(dtype).block_bytes;
    dequantize_row(dtype, bytes.data() + (row * k + column) * size, 1, &out);
    if (dtype != DType::kF8E4M3) return out;
    return out * bf16_to_f32(scales[row / rows_a_scale * scale_columns + column / columns_a_scale]);
  }
};

SourceTensor tensor_of(std::vector<SourceRun> runs, uint64_t k, uint64_t run_rows) {
  SourceTensor tensor = {};
  tensor.dtype = runs[0].stored.dtype;
  tensor.type_known = true;
  tensor.dims = {k, run_rows, runs.size()};
  tensor.n_elements = k * run_rows * runs.size();
  tensor.offset = 1000;
  tensor.runs = std::move(runs);
  return tensor;
}

// Returns the values of a row after packing.
std::vector<float> packed_row(const SourceTensor& tensor, uint64_t row) {
  const PackedType packed = packed_type(tensor, 0, tensor.rows(), tensor.rows());
  const DType as = packed.dtype;
  std::vector<std::byte> scratch(scratch_bytes(tensor, as));
  PanelRows rows;
  const uint64_t panel = row / kPanelRows * kPanelRows;
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(16, tensor.rows() - panel));
  EXPECT_TRUE(panel_rows(tensor, as, panel, count, scratch.data(), &rows));
  for (uint32_t r = count; r < kPanelRows; ++r) EXPECT_EQ(rows[r], nullptr);
  std::vector<float> out(tensor.dims[0]);
  dequantize_row(as, rows[row % kPanelRows], out.size(), out.data());
  if (as != DType::kF8E4M3) return out;
  const uint32_t scaled = packed.kind == PackKind::kFP8 ? 1 : count;
  const size_t columns = (out.size() + 127) / 128;
  std::vector<float> scales(columns * scaled);
  EXPECT_TRUE(panel_scales(tensor, panel, scaled, scales.data()));
  const float* own = scales.data() + columns * (scaled == 1 ? 0 : row % kPanelRows);
  for (size_t i = 0; i < out.size(); ++i) out[i] *= own[i / 128];
  return out;
}

template <typename Place>
void expect_rows(const SourceTensor& tensor, const Store& store, Place place) {
  for (uint64_t row = 0; row < tensor.rows(); ++row) {
    const std::vector<float> values = packed_row(tensor, row);
    for (uint64_t c = 0; c < values.size(); ++c) {
      auto [r, k] = place(row, c);
      ASSERT_EQ(values[c], store.value(r, k)) << row << " " << c;
    }
  }
}

TEST(SourceRows, RowsOfSeveralMatrices) {
  for (DType type : {DType::kF32, DType::kBF16, DType::kF8E4M3}) {
    Store a(40, 150, type), b(40, 150, type);
    for (std::byte& x : b.bytes) x = static_cast<std::byte>(std::to_integer<int>(x) ^ 1);
    SourceTensor tensor = tensor_of({a.run(0), b.run(0)}, 150, 40);
    EXPECT_EQ(packed_type(tensor, 40, 40, 40), type) << "an expert of its own";
    for (uint64_t row = 0; row < 80; ++row) {
      const std::vector<float> values = packed_row(tensor, row);
      for (uint64_t c = 0; c < 150; ++c) {
        ASSERT_EQ(values[c], (row < 40 ? a : b).value(row % 40, c)) << row << " " << c;
      }
    }
  }
}

TEST(SourceRows, InterleavedHalvesOfHeads) {
  for (uint64_t head : {128u, 64u, 256u, 24u}) {
    for (DType type : {DType::kF16, DType::kF8E4M3}) {
      Store store(3 * head, 70, type);
      std::vector<SourceRun> runs;
      for (uint64_t h = 0; h < 3; ++h) runs.push_back(store.run(h * head));
      for (SourceRun& run : runs) run.interleave = 2;
      SourceTensor tensor = tensor_of(runs, 70, head);
      expect_rows(tensor, store, [&](uint64_t row, uint64_t c) {
        const uint64_t r = row % head;
        return std::pair(row / head * head + r % 2 * (head / 2) + r / 2, c);
      });
      // The halves of a head of 256 rows lie in two blocks of scales. A block of scales ends inside
      // a head of 24 rows.
      const bool whole = type == DType::kF16 || head == 128 || head == 64;
      EXPECT_EQ(packed_type(tensor, 0, tensor.rows(), head), whole ? type : kOfRows) << head;
    }
  }
}

TEST(SourceRows, ColumnsOfPartsOfHeads) {
  for (uint64_t nope : {128u, 24u, 160u}) {
    for (DType type : {DType::kBF16, DType::kF8E4M3}) {
      const uint64_t head = nope + 128, lora = 200;
      Store store(2 * head, lora, type);
      std::vector<SourceRun> runs = {store.run(0), store.run(head)};
      for (SourceRun& run : runs) run.transposed = true;
      SourceTensor tensor = tensor_of(runs, nope, lora);
      expect_rows(tensor, store, [&](uint64_t row, uint64_t c) {
        return std::pair(row / lora * head + c, row % lora);
      });
      // A head's rows must begin a block of scales, or lie in one. Panels contain rows of two
      // heads.
      const PackedType of_all = nope == 160 ? PackedType(DType::kF32) : kOfRows;
      EXPECT_EQ(packed_type(tensor, 0, tensor.rows(), lora),
                type == DType::kBF16 ? PackedType(type) : of_all);
      if (type == DType::kF8E4M3) {
        EXPECT_EQ(packed_type(tensor, 0, lora, lora), kShared) << nope << ": the first head";
        EXPECT_EQ(packed_type(tensor, lora, lora, lora), nope == 160 ? DType::kF32 : type) << nope;
      }
    }
  }
}

TEST(SourceRows, AShardThatBeginsInsideOfAPanelHasScalesOfRows) {
  Store store(200, 64, DType::kF8E4M3);
  SourceTensor tensor = tensor_of({store.run(0)}, 64, 200);
  EXPECT_EQ(packed_type(tensor, 0, 200, 32), DType::kF8E4M3);
  EXPECT_EQ(packed_type(tensor, 0, 200, 40), kOfRows);
  EXPECT_EQ(packed_type(tensor, 0, 200, 200), DType::kF8E4M3) << "nothing cuts it";
  EXPECT_EQ(packed_type(tensor, 120, 80, 80), kOfRows) << "the panel's blocks differ";
  EXPECT_EQ(packed_type(tensor, 112, 88, 88), DType::kF8E4M3);
}

TEST(SourceRows, ScalesThatAreNoScales) {
  for (float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Store store(130, 130, DType::kF8E4M3);
    store.scales[3] = f32_to_bf16(bad);
    SourceTensor tensor = tensor_of({store.run(0)}, 130, 130);
    float scales[2 * kPanelRows];
    EXPECT_TRUE(panel_scales(tensor, 112, 16, scales));
    EXPECT_TRUE(panel_scales(tensor, 120, 1, scales));
    EXPECT_FALSE(panel_scales(tensor, 120, 10, scales));
    EXPECT_FALSE(panel_scales(tensor, 128, 1, scales));
    std::vector<std::byte> scratch(scratch_bytes(tensor, DType::kF32));
    PanelRows rows;
    EXPECT_TRUE(panel_rows(tensor, DType::kF32, 112, 16, scratch.data(), &rows));
    EXPECT_FALSE(panel_rows(tensor, DType::kF32, 120, 10, scratch.data(), &rows));
  }
}

TEST(SourceRows, AScaleForEachRow) {
  Store store(60, 300, DType::kF8E4M3, 1, 300), other = store;
  const SourceTensor rows = tensor_of({store.run(0), other.run(0)}, 300, 60);
  EXPECT_EQ(packed_type(rows, 0, 60, 60), kOfRows);
  EXPECT_EQ(packed_type(rows, 0, 120, 120), kOfRows);
  expect_rows(rows, store, [](uint64_t row, uint64_t c) { return std::pair(row % 60, c); });
  SourceTensor turned = tensor_of({store.run(0)}, 300, 60);
  turned.runs[0].interleave = 2;
  expect_rows(turned, store,
              [](uint64_t row, uint64_t c) { return std::pair(row % 2 * 30 + row / 2, c); });
  // The tensor's rows are columns of the stored matrix.
  SourceTensor columns = tensor_of({store.run(7)}, 40, 300);
  columns.runs[0].transposed = true;
  EXPECT_EQ(packed_type(columns, 0, 300, 300), DType::kF32);
  expect_rows(columns, store, [](uint64_t row, uint64_t c) { return std::pair(7 + c, row); });
}

// Columns of two groups with three runs each; scales move along if runs are whole blocks of scales.
TEST(SourceRows, ColumnsAreDealt) {
  for (uint32_t length : {128u, 20u}) {
    for (DType type : {DType::kF32, DType::kBF16, DType::kF8E4M3}) {
      const uint64_t k = uint64_t{6} * length;
      Store store(40, k, type);
      SourceTensor tensor = tensor_of({store.run(0)}, k, 40);
      tensor.dealt = {.length = length, .groups = 2, .count = 3};
      expect_rows(tensor, store, [&](uint64_t row, uint64_t c) {
        const uint64_t run = c / length;
        return std::pair(row, (run % 2 * 3 + run / 2) * length + c % length);
      });
      const bool whole = type != DType::kF8E4M3 || length == 128;
      EXPECT_EQ(packed_type(tensor, 0, 40, 40).dtype, whole ? type : DType::kF32);
    }
  }
}

TEST(SourceRows, EverySecondColumn) {
  for (DType type : {DType::kF32, DType::kBF16, DType::kF8E4M3}) {
    Store store(80, 48, type);
    std::vector<SourceRun> runs = {store.run(0), store.run(40)};
    for (SourceRun& run : runs) {
      run.transposed = true;
      run.column = 1;
      run.step = 2;
    }
    SourceTensor tensor = tensor_of(runs, 40, 24);
    expect_rows(tensor, store, [](uint64_t row, uint64_t c) {
      return std::pair(row / 24 * 40 + c, row % 24 * 2 + 1);
    });
  }
}

TEST(SourceRows, OneScaleForAll) {
  Store store(300, 200, DType::kF8E4M3, 300, 200);
  SourceTensor rows = tensor_of({store.run(5)}, 200, 100);
  EXPECT_EQ(packed_type(rows, 3, 90, 90), kShared);
  EXPECT_EQ(packed_type(rows, 0, 100, 20), kOfRows) << "shards begin inside of panels";
  expect_rows(rows, store, [](uint64_t row, uint64_t c) { return std::pair(5 + row, c); });
  SourceTensor columns = tensor_of({store.run(5)}, 290, 200);
  columns.runs[0].transposed = true;
  EXPECT_EQ(packed_type(columns, 0, 200, 200), kShared);
  expect_rows(columns, store, [](uint64_t row, uint64_t c) { return std::pair(5 + c, row); });
}

// Rows are read as F32 from every type and layout.
TEST(SourceRows, RowsAreWidened) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    Store store(40, 130, type);
    SourceTensor rows = tensor_of({store.run(0)}, 130, 40);
    SourceTensor columns = tensor_of({store.run(3)}, 37, 130);
    columns.runs[0].transposed = true;
    SourceTensor data = rows;
    data.data = store.bytes;
    data.runs.clear();
    for (const SourceTensor* tensor : {&rows, &columns, &data}) {
      if (tensor == &data && type == DType::kF8E4M3) continue;
      std::vector<std::byte> scratch(kPanelRows * tensor->dims[0] * sizeof(float));
      PanelRows panel;
      ASSERT_TRUE(panel_rows(*tensor, DType::kF32, 16, 16, scratch.data(), &panel));
      for (uint32_t r = 0; r < 16; ++r) {
        std::vector<float> values(tensor->dims[0]);
        std::memcpy(values.data(), panel[r], values.size() * sizeof(float));
        for (uint64_t k = 0; k < values.size(); ++k) {
          const bool across = tensor == &columns;
          ASSERT_EQ(values[k], across ? store.value(3 + k, 16 + r) : store.value(16 + r, k)) << k;
        }
      }
    }
  }
}

// Two matrices of 24 rows of 64, and an importance matrix: every fifth column of the first and
// every third of the second weighs much more than the others.
struct Counted {
  std::vector<float> values, sums;
  SourceTensor tensor = {};
  ImportanceEntry importance;

  Counted() : values(2 * 24 * 64), sums(2 * 64) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(0.7f * static_cast<float>(i)) * static_cast<float>(i % 7);
    }
    for (size_t k = 0; k < 64; ++k) {
      sums[k] = k % 5 == 0 ? 100.0f : 1.0f;
      sums[64 + k] = k % 3 == 0 ? 900.0f : 3.0f;
    }
    tensor.dims = {64, 24, 2};
    tensor.n_elements = values.size();
    tensor.data = std::as_bytes(std::span<const float>(values));
    importance = {"e", std::as_bytes(std::span<const float>(sums)), {2, 7}};
  }
  std::vector<float> weights(uint64_t row) const {
    std::vector<float> out(64);
    importance.write_weights(tensor, row, out.data());
    return out;
  }
  // Returns the weighted squared error of a row that was read back.
  double error(uint64_t row, const float* read) const {
    const std::vector<float> weight = weights(row);
    double sum = 0;
    for (size_t k = 0; k < 64; ++k) {
      const double off = read[k] - values[row * 64 + k];
      sum += weight[k] * off * off;
    }
    return sum;
  }
};

// Quantises a panel with rows of two matrices, by the weights of each.
TEST(SourceRows, RowsAreQuantisedByWhatTheirColumnsCount) {
  const Counted of;
  std::vector<std::byte> scratch(scratch_bytes(of.tensor, DType::kQ4_0));
  std::vector<float> read(64);
  double counted = 0, alike = 0;
  for (const bool with : {true, false}) {
    PanelRows rows;
    ASSERT_TRUE(panel_rows(of.tensor, DType::kQ4_0, 16, 16, scratch.data(), &rows,
                           with ? &of.importance : nullptr));
    for (uint64_t r = 0; r < 16; ++r) {
      const std::vector<float> weights = of.weights(16 + r);
      std::vector<std::byte> wanted(row_bytes(DType::kQ4_0, 64));
      quantize_row(DType::kQ4_0, of.values.data() + (16 + r) * 64, 64,
                   with ? weights.data() : nullptr, wanted.data());
      EXPECT_EQ(std::memcmp(rows[r], wanted.data(), wanted.size()), 0) << r;
      dequantize_row(DType::kQ4_0, rows[r], 64, read.data());
      (with ? counted : alike) += of.error(16 + r, read.data());
    }
  }
  EXPECT_LT(counted, 0.9 * alike);
}

TEST(SourceRows, RowsBecomeFp8ByWhatTheirColumnsCount) {
  const Counted of;
  std::vector<std::byte> scratch(scratch_bytes(of.tensor, DType::kF8E4M3));
  PanelRows rows;
  float scales[16];
  ASSERT_TRUE(panel_as_fp8(of.tensor, 16, 16, scratch.data(), &rows, scales, &of.importance));
  double counted = 0, alike = 0;
  for (uint64_t r = 0; r < 16; ++r) {
    std::vector<e4m3_t> codes(64);
    std::vector<float> read(64);
    float scale;
    fit_fp8(of.values.data() + (16 + r) * 64, 64, nullptr, codes.data(), &scale);
    for (size_t k = 0; k < 64; ++k) read[k] = scale * e4m3_to_f32(codes[k]);
    alike += of.error(16 + r, read.data());
    for (size_t k = 0; k < 64; ++k) {
      read[k] = scales[r] * e4m3_to_f32(std::to_integer<e4m3_t>(rows[r][k]));
    }
    counted += of.error(16 + r, read.data());
  }
  EXPECT_LT(counted, 0.98 * alike);
}

TEST(SourceRows, PlacesInTheFile) {
  Store store(40, 10, DType::kF16);
  auto ranges = [](const SourceTensor& tensor, uint64_t first, uint64_t rows) {
    std::vector<std::pair<uint64_t, uint64_t>> found;
    for_file_ranges(tensor, first, rows,
                    [&](const FileRange& range) { found.emplace_back(range.offset, range.bytes); });
    return found;
  };
  using Found = std::vector<std::pair<uint64_t, uint64_t>>;
  SourceTensor parts = tensor_of({store.run(5), store.run(20)}, 10, 15);
  EXPECT_EQ(ranges(parts, 0, 30), (Found{{1100, 300}, {1400, 300}}));
  EXPECT_EQ(ranges(parts, 3, 2), (Found{{1160, 40}}));
  EXPECT_EQ(ranges(parts, 14, 2), (Found{{1380, 20}, {1400, 20}}));
  SourceTensor columns = tensor_of({store.run(0), store.run(20)}, 7, 10);
  for (SourceRun& run : columns.runs) run.transposed = true;
  EXPECT_EQ(ranges(columns, 12, 1), (Found{{1400, 140}}));
  SourceTensor plain = tensor_of({store.run(0)}, 10, 40);
  plain.data = store.bytes;
  plain.runs.clear();
  EXPECT_EQ(ranges(plain, 2, 3), (Found{{1040, 60}}));
  plain.part = kNoPart;
  EXPECT_EQ(ranges(plain, 2, 3), Found{});
}

}  // namespace
}  // namespace hearth
