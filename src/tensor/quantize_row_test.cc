#include "tensor/quantize_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tensor/test_block.h"

namespace hearth {
namespace {

std::vector<float> read_back(DType type, const std::vector<float>& row,
                             const float* weights = nullptr) {
  std::vector<std::byte> bytes(row_bytes(type, row.size()));
  quantize_row(type, row.data(), row.size(), weights, bytes.data());
  std::vector<float> values(row.size());
  dequantize_row(type, bytes.data(), row.size(), values.data());
  return values;
}

// Returns the root mean square of the errors, over that of the elements.
double relative_error(const std::vector<float>& wanted, const std::vector<float>& found) {
  double error = 0, all = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(wanted[i] - found[i], 2);
    all += std::pow(wanted[i], 2);
  }
  return std::sqrt(error / all);
}

std::vector<float> normal_row(size_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> row(count);
  for (float& value : row) value = normal(random);
  return row;
}

TEST(QuantizeRow, ReadsBackNearly) {
  // The largest of 32 elements lies 2.1 deviations from 0 on average. If `codes` steps reach from
  // there to its negative, they leave errors of a step / sqrt(12).
  const std::vector<float> row = normal_row(4096);
  for (const DType type : quantized_dtypes()) {
    const int codes = type == DType::kQ8_0   ? 255
                      : type == DType::kQ6_K ? 63
                      : type == DType::kQ5_K ? 31
                                             : 15;
    const double error = relative_error(row, read_back(type, row));
    EXPECT_LT(error, 2 * 2.1 / codes / std::sqrt(12)) << dtype_info(type).name;
    EXPECT_GT(error, 1.0 / codes / std::sqrt(12)) << dtype_info(type).name;
  }
}

// Values that were dequantised from a type lose next to nothing when they are quantised to it
// again: only scales are rounded once more.
TEST(QuantizeRow, FindsTheCodesOfItsOwnType) {
  for (const DType type : quantized_dtypes()) {
    const std::vector<float> once = read_back(type, normal_row(4096));
    EXPECT_LT(relative_error(once, read_back(type, once)), 0.01) << dtype_info(type).name;
  }
}

TEST(QuantizeRow, PlainScalesAreFoundExactly) {
  std::vector<float> row(64);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = 0.25f * static_cast<float>(static_cast<int>(i * 7 % 16) - 8);
  }
  EXPECT_EQ(read_back(DType::kQ4_0, row), row);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = -0.5f * static_cast<float>(static_cast<int>(i * 37 % 255) - 127);
  }
  row[0] = row[40] = 63.5f;
  EXPECT_EQ(read_back(DType::kQ8_0, row), row);
}

TEST(QuantizeRow, BlocksStandAlone) {
  for (const DType type : quantized_dtypes()) {
    const size_t n = dtype_info(type).block_elements;
    std::vector<float> row = normal_row(3 * n);
    for (size_t i = n; i < 2 * n; ++i) row[i] = 0;
    row[2 * n + 3] = NAN;
    const std::vector<float> found = read_back(type, row);
    const std::vector<float> first = read_back(type, {row.begin(), row.begin() + n});
    EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + n), first);
    for (size_t i = n; i < 2 * n; ++i) EXPECT_EQ(found[i], 0) << dtype_info(type).name;
    for (size_t i = 2 * n; i < 3 * n; ++i) EXPECT_FALSE(std::isfinite(found[i]));
  }
}

TEST(QuantizeRow, TakesElementsOfAnySize) {
  for (const DType type : quantized_dtypes()) {
    for (const float size : {1e-38f, 1e-7f, 1.0f, 1e6f}) {
      std::vector<float> row = normal_row(256);
      for (float& value : row) value *= size;
      const std::vector<float> found = read_back(type, row);
      // Scales in binary16 are multiples of 2^-24; a scale of Q4_K is a 63rd of the largest
      // block's.
      const double lost = 63.0 * 31 * 0x1p-24;
      for (size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(found[i], row[i], size * 0.02 + lost);
    }
    const std::vector<float> found = read_back(type, std::vector<float>(256, 3e38f));
    for (const float value : found) EXPECT_FALSE(std::isfinite(value)) << dtype_info(type).name;
  }
}

TEST(QuantizeRow, ColumnsThatCountMoreAreNearer) {
  const std::vector<float> row = normal_row(4096);
  std::vector<float> weights(row.size(), 1e-3f);
  for (size_t i = 0; i < row.size(); i += 16) weights[i] = 1;
  for (const DType type : quantized_dtypes()) {
    const std::vector<float> evenly = read_back(type, row);
    const std::vector<float> weighted = read_back(type, row, weights.data());
    double before = 0, after = 0;
    for (size_t i = 0; i < row.size(); i += 16) {
      before += std::pow(row[i] - evenly[i], 2);
      after += std::pow(row[i] - weighted[i], 2);
    }
    EXPECT_LT(after, before / 2) << dtype_info(type).name;
  }
}

}  // namespace
}  // namespace hearth
