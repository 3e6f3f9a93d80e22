#include "tune/undecided.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Undecided, AreThoseThatMayBeWorthIt) {
  Undecided of;
  of.add({1.2, 1.1, 1.3});     // worse
  of.add({0.995, 0.98, 1.1});  // saves less than it must
  of.add({0.9, 0.85, 0.95});   // certainly better
  EXPECT_EQ(of.count, 0u);
  of.add({0.97, 0.9, 1.02});
  of.add({0.95, 0.8, 0.991});
  of.add({0.98, 0.95, 1});
  EXPECT_EQ(of.count, 3u);
  EXPECT_EQ(of.cost, (TimeRatio{0.95, 0.8, 0.991}));
}

TEST(Undecided, AddsThoseOfAnEarlierRound) {
  Undecided earlier, of;
  earlier.add({0.95, 0.8, 0.991});
  of.add({0.97, 0.9, 1.02});
  of.add_all(earlier);
  EXPECT_EQ(of.count, 2u);
  EXPECT_EQ(of.cost, (TimeRatio{0.95, 0.8, 0.991}));
}

}  // namespace
}  // namespace hearth
