#include "tune/time_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hearth {
namespace {

class TimeBudgetTest : public testing::Test {
 protected:
  // Works in trials of `trial` seconds until is_over(trial) is true. Returns the time at which the
  // work ends.
  double work(TimeBudget budget, double trial) {
    while (!budget.is_over(trial)) now_ += trial;
    return now_;
  }

  double now_ = 1000;
  TimeBudget::Clock clock_ = [this] { return now_; };
};

TEST_F(TimeBudgetTest, IsKeptToATwentieth) {
  for (double trial : {0.5, 3.0, 8.0, 30.0}) {
    now_ = 1000;
    const double took = work(TimeBudget(100, clock_), trial) - 1000;
    EXPECT_LE(took, 105) << trial;
    EXPECT_GE(took, std::min(100.0, 105 - trial)) << trial;
  }
}

TEST_F(TimeBudgetTest, ATrialOfUnknownLengthBeginsWhileTimeIsLeft) {
  TimeBudget budget(100, clock_);
  EXPECT_FALSE(budget.is_over());
  now_ += 99;
  EXPECT_FALSE(budget.is_over());
  EXPECT_EQ(budget.left(), 1);
  now_ += 2;
  EXPECT_TRUE(budget.is_over());
  EXPECT_EQ(budget.left(), 0);
}

TEST_F(TimeBudgetTest, PartsAreOfWhatIsLeftAndMayBeAsLateAsTheWhole) {
  TimeBudget budget(100, clock_);
  now_ += 20;
  const TimeBudget part = budget.part(0.5);
  EXPECT_EQ(part.left(), 40);
  EXPECT_FALSE(part.is_over(45));
  EXPECT_TRUE(part.is_over(45.1));
  EXPECT_FALSE(budget.is_over(80));
}

}  // namespace
}  // namespace hearth
