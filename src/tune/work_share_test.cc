#include "tune/work_share.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(WorkShare, CountsWhatWorksTake) {
  const WorkShare share({1, 0, 3, 4});
  EXPECT_EQ(share.part(0, 0), 0);
  EXPECT_EQ(share.part(0, 0.5), 0.0625);
  EXPECT_EQ(share.part(1, 1), 0.125) << "what is known already takes no time";
  EXPECT_EQ(share.part(3, 0.5), 0.75);
  EXPECT_EQ(share.part(3, 7), 1) << "more than was thought";
  EXPECT_EQ(share.part(9, 0), 1);
  EXPECT_EQ(WorkShare({0, 0}).part(0, 0), 1);
}

}  // namespace
}  // namespace hearth
