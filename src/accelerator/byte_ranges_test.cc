#include "accelerator/byte_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hearth {
namespace {

using Marks = std::vector<bool>;

void mark_bytes(const Access& a, bool as, Marks& marks) {
  for (uint32_t row = 0; row < a.rows; ++row) {
    for (uint64_t i = 0; i < a.bytes; ++i) marks[a.at.offset + row * a.stride + i] = as;
  }
}

Access drawn_access(std::mt19937& random) {
  const uint64_t bytes = 1 + random() % 12;
  const uint64_t stride = random() % 3 == 0 ? 20 : bytes + random() % 20;
  return {.at = {1, random() % 60},
          .bytes = bytes,
          .stride = stride,
          .rows = 1 + static_cast<uint32_t>(random() % 6)};
}

uint64_t count(const Marks& marks) {
  return static_cast<uint64_t>(std::ranges::count(marks, true));
}

TEST(ByteRanges, AreSetsOfBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const Access first = drawn_access(random);
    ByteRanges left(first), others;
    Marks marks(400), other_marks(400);
    mark_bytes(first, true, marks);
    for (int j = 0; j < 2; ++j) {
      const Access access = drawn_access(random);
      left.take_away(access);
      mark_bytes(access, false, marks);
    }
    ASSERT_EQ(left.bytes(), count(marks));
    for (int j = 0; j < 2; ++j) {
      const Access access = drawn_access(random);
      others.add(access);
      mark_bytes(access, true, other_marks);
    }
    others.sort();
    ASSERT_EQ(others.bytes(), count(other_marks));
    const uint64_t begin = random() % 50, end = begin + 1 + random() % 9;
    ASSERT_EQ(others.hold({begin, end}),
              std::find(other_marks.begin() + begin, other_marks.begin() + end, false) ==
                  other_marks.begin() + end);
    left.take_away(others);
    for (size_t byte = 0; byte < marks.size(); ++byte) {
      if (other_marks[byte]) marks[byte] = false;
    }
    ASSERT_EQ(left.bytes(), count(marks));
    ASSERT_EQ(left.empty(), count(marks) == 0);
    ASSERT_TRUE(left.empty() || marks[left.begin()]);
  }
}

TEST(ByteRanges, ContainsIsExact) {
  std::mt19937 random(2);
  uint32_t contained = 0;
  for (int i = 0; i < 50000; ++i) {
    const Access a = drawn_access(random), b = drawn_access(random);
    Marks in_a(400), in_both(400);
    mark_bytes(a, true, in_a);
    in_both = in_a;
    mark_bytes(b, true, in_both);
    const bool all = in_both == in_a;
    if (contains(a, b)) {
      ASSERT_TRUE(all);
    } else if (all && (b.rows == 1 || a.stride == b.stride) && a.stride > a.bytes &&
               b.stride > b.bytes) {
      ADD_FAILURE() << i;
    }
    contained += contains(a, b);
  }
  EXPECT_GT(contained, 500u);
}

}  // namespace
}  // namespace hearth
