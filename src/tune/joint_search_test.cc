// The search for plans and kernels together, over made-up machines. A made-up machine is a table:
// how many seconds a step takes under each plan, with default kernels, after the kernels' fast
// start, and after their whole search.
#include "tune/joint_search.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace hearth {
namespace {

Plan plan_of(uint32_t groups) { return even_plan(Phase::kDecode, 16, groups, groups, 12); }

class JointSearchTest : public testing::Test {
 protected:
  struct Seconds {
    double by_default, looked, searched;
  };
  // [groups of the plan]: the seconds of a step under it. `scatter_`: how far confidence intervals
  // reach to either side.
  std::map<uint32_t, Seconds> machine_;
  double scatter_ = 0.002;
  uint32_t calls_left_ = UINT32_MAX;

  std::map<uint32_t, int> found_;  // by groups of the plan; 1: looked at, 2: searched
  std::string log_;

  bool goes_on() {
    if (calls_left_ == 0) return false;
    --calls_left_;
    return true;
  }
  double seconds(const Plan& plan) {
    const Seconds& of = machine_.at(plan.group_count());
    const int found = found_[plan.group_count()];
    return found == 2 ? of.searched : found == 1 ? of.looked : of.by_default;
  }
  JointWork work() {
    auto find = [this](const char* what, int found) {
      return [this, what, found](const Plan& plan) {
        log_ += what + std::to_string(plan.group_count()) + " ";
        found_[plan.group_count()] = found;
        return goes_on();
      };
    };
    auto compare = [this](const Plan& plan, const Plan& other,
                          uint32_t pairs) -> std::optional<TimeRatio> {
      log_ += std::to_string(plan.group_count()) + "/" + std::to_string(other.group_count()) + "x" +
              std::to_string(pairs) + " ";
      if (!goes_on()) return std::nullopt;
      const double ratio = seconds(plan) / seconds(other);
      return TimeRatio{ratio, ratio * (1 - scatter_), ratio * (1 + scatter_)};
    };
    return {find("look", 1), find("search", 2), compare};
  }
  std::vector<Plan> candidates(uint32_t most) const {
    std::vector<PlanTrial> measured;
    for (const auto& [groups, of] : machine_) {
      if (groups != 1)
        measured.push_back({plan_of(groups), of.by_default / machine_.at(1).by_default});
    }
    return joint_candidates(plan_of(1), measured, most);
  }
};

// No plan beats the first with the default kernels. Another plan does with kernels of its own.
TEST_F(JointSearchTest, APlanWinsByKernelsOfItsOwn) {
  machine_ = {{1, {100, 96, 95}}, {2, {101, 99, 98}}, {3, {104, 92, 90}}, {4, {103, 100, 99}}};
  const std::optional<JointResult> found = search_jointly(candidates(4), work());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, plan_of(3));
  EXPECT_NEAR(found->cost.ratio, 90.0 / 95, 1e-12);
  EXPECT_EQ(log_, "look1 look2 look4 look3 2/1x8 4/1x8 3/1x8 search1 search3 3/1x20 ");
}

TEST_F(JointSearchTest, TheBestTwoAreHeldAgainstEachOtherAndThenTheFirst) {
  machine_ = {{1, {100, 99, 98}}, {2, {95, 94, 88}}, {3, {94, 93, 92}}};
  const std::optional<JointResult> found = search_jointly(candidates(4), work());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, plan_of(2)) << "by a look the other was faster";
  EXPECT_EQ(log_, "look1 look3 look2 3/1x8 2/1x8 search3 search2 2/3x20 2/1x20 ");
}

TEST_F(JointSearchTest, TheFirstStaysWhereNothingSavesForCertain) {
  machine_ = {{1, {100, 96, 95}}, {2, {101, 95.5, 94.5}}};
  std::optional<JointResult> found = search_jointly(candidates(4), work());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, plan_of(1));
  EXPECT_EQ(found->cost, TimeRatio());
  EXPECT_EQ(log_, "search1 search2 2/1x20 ") << "of two both are searched";
  machine_[2] = {95, 92, 90};
  scatter_ = 0.06;
  found = search_jointly(candidates(4), work());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->best, plan_of(1)) << "it saves 5 % on average";
}

TEST_F(JointSearchTest, CandidatesAreTheBestThatAreNotHopeless) {
  machine_ = {
      {1, {100, 0, 0}}, {2, {105, 0, 0}}, {3, {90, 0, 0}}, {4, {102, 0, 0}}, {6, {104, 0, 0}}};
  EXPECT_EQ(candidates(4), (std::vector<Plan>{plan_of(1), plan_of(3), plan_of(4)}))
      << "0.9 times 1.15 is 1.035";
  EXPECT_EQ(candidates(2), (std::vector<Plan>{plan_of(1), plan_of(3)}));
  EXPECT_EQ(candidates(1), std::vector<Plan>{plan_of(1)});
  EXPECT_EQ(joint_candidates(plan_of(1), {}, 4), std::vector<Plan>{plan_of(1)});
}

TEST_F(JointSearchTest, StoppingGivesNoResult) {
  machine_ = {{1, {100, 99, 98}}, {2, {95, 94, 88}}, {3, {94, 93, 92}}};
  for (uint32_t calls = 0; calls < 9; ++calls) {
    calls_left_ = calls;
    EXPECT_FALSE(search_jointly(candidates(4), work())) << calls;
  }
  calls_left_ = 9;
  EXPECT_TRUE(search_jointly(candidates(4), work()));
}

}  // namespace
}  // namespace hearth
