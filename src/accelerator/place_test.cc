#include "accelerator/place.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hearth {
namespace {

std::vector<bool> bytes_of(const Access& a) {
  std::vector<bool> bytes(4096);
  for (uint32_t row = 0; row < a.rows; ++row) {
    for (uint64_t i = 0; i < a.bytes; ++i) bytes[a.at.offset + row * a.stride + i] = true;
  }
  return bytes;
}

bool share_a_byte(const Access& a, const Access& b) {
  const std::vector<bool> x = bytes_of(a), y = bytes_of(b);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] && y[i]) return true;
  }
  return false;
}

TEST(Place, OverlapIsThatOfTheBytes) {
  std::mt19937 random(1);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  uint32_t both = 0;
  for (int i = 0; i < 20000; ++i) {
    Access access[2];
    const uint32_t shared = 1 + below(40);
    for (Access& a : access) {
      a = {.at = {3, below(60)}, .bytes = below(12), .stride = 0, .rows = 1 + below(9)};
      a.stride = a.bytes + (below(3) == 0 ? 0 : below(30));
      if (i % 2 == 0 && a.bytes <= shared) a.stride = shared;
    }
    ASSERT_EQ(overlap(access[0], access[1]), share_a_byte(access[0], access[1]));
    ASSERT_EQ(overlap(access[1], access[0]), share_a_byte(access[0], access[1]));
    both += overlap(access[0], access[1]);
  }
  EXPECT_GT(both, 4000u);
  EXPECT_LT(both, 16000u);
}

TEST(Place, NoOverlapAcrossBuffersOrOfNothing) {
  const Access a = {.at = {1, 0}, .bytes = 64};
  EXPECT_TRUE(overlap(a, a));
  EXPECT_FALSE(overlap(a, {.at = {2, 0}, .bytes = 64}));
  EXPECT_FALSE(overlap(a, {.at = {1, 0}, .bytes = 0}));
  EXPECT_FALSE(overlap(a, {.at = {1, 0}, .bytes = 64, .stride = 64, .rows = 0}));
  EXPECT_FALSE(overlap({.at = {}, .bytes = 64}, {.at = {}, .bytes = 64}));
}

// The columns of two matrix products lie side by side in one matrix, far from a buffer's beginning.
TEST(Place, ColumnsSideBySideDoNotOverlap) {
  const uint64_t far = uint64_t{5} << 32;
  const Access left = {.at = {1, far}, .bytes = 1024, .stride = 4096, .rows = 4096};
  EXPECT_FALSE(overlap(left, {.at = {1, far + 1024}, .bytes = 3072, .stride = 4096, .rows = 4096}));
  EXPECT_TRUE(overlap(left, {.at = {1, far + 1023}, .bytes = 2, .stride = 4096, .rows = 4096}));
  EXPECT_TRUE(overlap(left, {.at = {1, far + uint64_t{4095} * 4096 + 1023}, .bytes = 1}));
  EXPECT_FALSE(overlap(left, {.at = {1, far + uint64_t{4095} * 4096 + 1024}, .bytes = 99}));
}

TEST(Place, EndIsBehindTheLastByte) {
  EXPECT_EQ(end_of({.at = {1, 5}, .bytes = 7}), 12u);
  EXPECT_EQ(end_of({.at = {1, 5}, .bytes = 7, .stride = 10, .rows = 3}), 32u);
  EXPECT_EQ(end_of({.at = {1, 5}, .bytes = UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(end_of({.at = {1, 5}, .bytes = 7, .stride = UINT64_MAX / 2, .rows = 4}), UINT64_MAX);
}

}  // namespace
}  // namespace hearth
