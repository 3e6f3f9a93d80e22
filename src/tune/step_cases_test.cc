#include "tune/step_cases.h"

#include <gtest/gtest.h>

#include "tune/test_steps.h"

namespace hearth {
namespace {

class StepCasesTest : public testing::Test {
 protected:
  StepCasesTest() {
    add_found(kDense, {16, 64}, &tuned_);
    add_found(kExperts, {1, 4, 32}, &tuned_);
    for (const StepCase& one : all_) tuned_.steps.push_back({one.phase, one.size, {}, 8});
  }
  static std::vector<uint32_t> rows_of(const ScheduleTable& table, const ProductShape& shape) {
    std::vector<uint32_t> rows;
    for (const ScheduleEntry& entry : table.entries) {
      if (entry.product == shape && !entry.schedule.is_default()) rows.push_back(entry.max_rows);
    }
    return rows;
  }
  std::vector<uint32_t> sizes() const {
    std::vector<uint32_t> sizes;
    for (const TunedStep& step : tuned_.steps) sizes.push_back(step.size);
    return sizes;
  }

  // Experts have 1 row in the first of these four cases; 1, 2 or 4 in the second; 1 to 16 in the
  // third; and 4 to 64 in the last.
  const std::vector<StepCase> all_{{Phase::kDecode, 1, 1},
                                   {Phase::kDecode, 16, 16},
                                   {Phase::kPrefill, 64, 64},
                                   {Phase::kPrefill, 512, 512}};
  Tuned tuned_;
};

TEST_F(StepCasesTest, AStepThatGetsNoFasterKeepsItsDefaults) {
  reset_step(all_[1], kPromptRows, &tuned_);
  const ScheduleTable left = tuned_schedules(tuned_);
  EXPECT_EQ(rows_of(left, kDense), (std::vector<uint32_t>{64}));
  EXPECT_EQ(rows_of(left, kExperts), (std::vector<uint32_t>{32}));
  // Only this step has no experts with 1 row or with 4.
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{16}));
  reset_step(all_[1], kPromptRows, &tuned_);
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{16})) << "nothing is left to lose";
}

// The stored steps are prompts from an earlier trace: one of 24 tokens, whose experts have 1 to 4
// rows, and one of 512 tokens in many steps, whose experts have 4 to 64 rows. Both share products
// with the step that is reset.
TEST_F(StepCasesTest, StepsOfOtherCasesAreTimedAgain) {
  tuned_.steps = {{Phase::kPrefill, 24, {}, 8}, {Phase::kPrefill, 8192, {}, 8}};
  reset_step(all_[1], kPromptRows, &tuned_);
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{}));
}

TEST_F(StepCasesTest, StepsThatShareNothingStayTimed) {
  tuned_.products.resize(2);  // the dense ones
  reset_step(all_[2], kPromptRows, &tuned_);
  EXPECT_EQ(sizes(), (std::vector<uint32_t>{1, 16, 64, 512}));
  EXPECT_EQ(rows_of(tuned_schedules(tuned_), kDense), (std::vector<uint32_t>{16}));
}

TEST_F(StepCasesTest, SchedulesAreUsedWhereAStepWithThemWasTimed) {
  tuned_.steps.clear();
  EXPECT_TRUE(timed_schedules(tuned_).empty());
  tuned_.steps.push_back({Phase::kDecode, 16, {}, 8});
  EXPECT_EQ(rows_of(timed_schedules(tuned_), kExperts), (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(rows_of(timed_schedules(tuned_), kDense), (std::vector<uint32_t>{16}));
  // The prompt of 512 tokens is computed in steps of at most 64 rows.
  tuned_.steps.push_back({Phase::kPrefill, 512, {}, 8});
  EXPECT_EQ(rows_of(timed_schedules(tuned_), kDense), (std::vector<uint32_t>{16, 64}));
}

}  // namespace
}  // namespace hearth
