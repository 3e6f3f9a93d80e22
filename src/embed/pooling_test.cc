#include "embed/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"

namespace hearth {
namespace {

std::vector<float> pooled(PoolingType pooling, const std::vector<std::vector<float>>& rows) {
  Pooler pooler(pooling, static_cast<uint32_t>(rows[0].size()));
  if (pooling == PoolingType::kCls) pooler.add(rows.front());
  if (pooling == PoolingType::kLast) pooler.add(rows.back());
  if (pooling == PoolingType::kMean) {
    for (const std::vector<float>& row : rows) pooler.add(row);
  }
  return pooler.take();
}

ModelSpec model_saying(PoolingType pooling) {
  ModelSpec spec;
  spec.source = "some.gguf";
  spec.hyper.pooling = pooling;
  return spec;
}

// Returns the message of a refusal; "" if nothing is refused.
std::string refusal(PoolingType said, std::optional<PoolingType> asked) {
  try {
    settle_pooling(model_saying(said), asked);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Pooling, TakesOneRowOrTheMean) {
  std::vector<std::vector<float>> rows = {{1, -2, 3}, {5, 6, -7}, {0, 2, 16}};
  EXPECT_EQ(pooled(PoolingType::kCls, rows), rows[0]);
  EXPECT_EQ(pooled(PoolingType::kLast, rows), rows[2]);
  EXPECT_EQ(pooled(PoolingType::kMean, rows), (std::vector<float>{2, 2, 4}));
}

// A sum in float would lose the small elements beside the large one.
TEST(Pooling, MeanIsSummedInDouble) {
  std::vector<std::vector<float>> rows(1001, {1});
  rows[0] = {1e9f};
  rows[1000] = {-1e9f};
  EXPECT_EQ(pooled(PoolingType::kMean, rows)[0], static_cast<float>(999.0 / 1001));
}

TEST(Pooling, PoolerStartsAnew) {
  Pooler pooler(PoolingType::kMean, 2);
  pooler.add(std::vector<float>{1, 2});
  pooler.take();
  pooler.add(std::vector<float>{4, 4});
  EXPECT_EQ(pooler.take(), (std::vector<float>{4, 4}));
}

TEST(Pooling, NormalisesAndKeepsZeros) {
  std::vector<float> vector = {3, 0, -4}, zeros = {0, 0};
  normalise(vector);
  EXPECT_EQ(vector, (std::vector<float>{0.6f, 0, -0.8f}));
  normalise(zeros);
  EXPECT_EQ(zeros, (std::vector<float>{0, 0}));
  // The squares of these elements are beyond the range of a float.
  std::vector<float> large = {3e38f, 0}, small = {1e-40f, 0};
  normalise(large);
  normalise(small);
  EXPECT_EQ(large[0], 1);
  EXPECT_EQ(small[0], 1);
}

// Each quotient is rounded once, by half of 2^-23 relatively, and so the sum of squares is within
// 2^-23 of 1; the root's own error in double is far less.
TEST(Pooling, LengthIsOne) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (uint32_t n : {1u, 7u, 384u, 1024u}) {
    std::vector<float> vector(n);
    for (float& x : vector) x = normal(random);
    normalise(vector);
    double squares = 0;
    for (float x : vector) squares += double{x} * double{x};
    EXPECT_NEAR(squares, 1, 0x1p-23) << n;
  }
}

TEST(Pooling, CutsDimensions) {
  std::vector<float> vector = {3, 4, 12}, plain = vector;
  cut_dimensions(2, true, &vector);
  EXPECT_EQ(vector, (std::vector<float>{0.6f, 0.8f}));
  cut_dimensions(2, false, &plain);
  EXPECT_EQ(plain, (std::vector<float>{3, 4}));
  EXPECT_THROW(cut_dimensions(3, true, &vector), Error);
  EXPECT_THROW(cut_dimensions(0, true, &vector), Error);
}

TEST(Pooling, ComesFromTheFileOrIsAskedFor) {
  for (PoolingType pooling : kPoolings) {
    EXPECT_EQ(settle_pooling(model_saying(pooling), std::nullopt), pooling);
    EXPECT_EQ(settle_pooling(model_saying(PoolingType::kNone), pooling), pooling);
    EXPECT_EQ(settle_pooling(model_saying(PoolingType::kLast), pooling), pooling);
  }
}

TEST(Pooling, RefusesWhatItCannotDo) {
  EXPECT_EQ(refusal(PoolingType::kNone, std::nullopt).find("pooling is needed, as 'some.gguf'"),
            0u);
  for (auto asked : {std::optional<PoolingType>(), std::optional(PoolingType::kCls)}) {
    EXPECT_NE(refusal(PoolingType::kRank, asked).find("rank"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
