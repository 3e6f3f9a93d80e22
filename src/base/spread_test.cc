#include "base/spread.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(SpreadOf, OddAndEvenNumbers) {
  Spread odd = spread_of({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.most, 3);
  EXPECT_EQ(odd.relative(), 1);
  EXPECT_EQ(spread_of({4, 1, 2, 100}).median, 3);
}

TEST(SpreadOf, OneOrNone) {
  EXPECT_EQ(spread_of({7}).median, 7);
  EXPECT_EQ(spread_of({7}).relative(), 0);
  EXPECT_EQ(spread_of({}).median, 0);
  EXPECT_EQ(spread_of({}).relative(), 0);
}

}  // namespace
}  // namespace hearth
