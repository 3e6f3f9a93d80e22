#include "tune/step_search.h"

#include <gtest/gtest.h>

#include "tune/test_steps.h"

namespace hearth {
namespace {

constexpr StepComparison kGains{{0.9, 0.88, 0.92}, 8};
constexpr StepComparison kGainsLess{{0.95, 0.93, 0.97}, 10};
constexpr StepComparison kLoses{{1.05, 1.02, 1.08}, 4};

// Answers the comparisons that a search asks for by a list of made-up results, one after the other.
class StepSearchTest : public testing::Test {
 protected:
  bool search(bool confirm, std::vector<std::optional<StepComparison>> answers) {
    asked_.clear();
    auto compare = [&](const StepCase& one) {
      asked_.push_back(one.size);
      return asked_.size() > answers.size() ? std::nullopt : answers[asked_.size() - 1];
    };
    return search_steps(
        all_, confirm, kPromptRows, compare, [&] { ++saved_; }, &tuned_);
  }
  const TunedStep& step(uint32_t size) const {
    for (const TunedStep& one : tuned_.steps) {
      if (one.size == size) return one;
    }
    ADD_FAILURE() << "no step of " << size;
    return tuned_.steps.front();
  }
  using Sizes = std::vector<uint32_t>;

  // Experts have 1 row in the first of these three cases; 1, 2 or 4 in the second; and 4 to 64 in
  // the last.
  const std::vector<StepCase> all_{
      {Phase::kDecode, 1, 1}, {Phase::kDecode, 16, 16}, {Phase::kPrefill, 512, 512}};
  Tuned tuned_;
  Sizes asked_;
  uint32_t saved_ = 0;
};

TEST_F(StepSearchTest, AGainMustShowTwice) {
  add_found(kDense, {1, 16, 512}, &tuned_);
  EXPECT_TRUE(search(false, {kGains, kGains, kGains}));
  EXPECT_EQ(asked_, (Sizes{1, 16, 512}));
  EXPECT_EQ(saved_, 3u);
  for (const TunedStep& one : tuned_.steps) EXPECT_FALSE(one.confirmed) << one.size;
  EXPECT_TRUE(search(false, {})) << "all were timed";
  EXPECT_TRUE(search(true, {kGainsLess, kLoses, kGains}));
  EXPECT_EQ(asked_, (Sizes{1, 16, 512}));
  for (const TunedStep& one : tuned_.steps) EXPECT_TRUE(one.confirmed) << one.size;
  EXPECT_EQ(step(1).cost, kGainsLess.cost) << "the smaller gain counts";
  EXPECT_EQ(step(1).trials, 18u);
  EXPECT_EQ(step(512).cost, kGains.cost);
  EXPECT_EQ(step(16).cost, TimeRatio());
  EXPECT_TRUE(tuned_.products[1].entry.schedule.is_default()) << "what lost is taken back";
  EXPECT_FALSE(tuned_.products[0].entry.schedule.is_default());
  EXPECT_TRUE(search(true, {})) << "nothing is left to time";
  EXPECT_TRUE(asked_.empty());
}

TEST_F(StepSearchTest, AStepThatLosesAtFirstIsNotTimedAgain) {
  add_found(kDense, {1, 16, 512}, &tuned_);
  EXPECT_TRUE(search(false, {kGains, kLoses, kGains}));
  EXPECT_TRUE(search(true, {kGains, kGains}));
  EXPECT_EQ(asked_, (Sizes{1, 512}));
}

TEST_F(StepSearchTest, StepsWithDefaultSchedulesAreNotTimed) {
  add_found(kDense, {16}, &tuned_);
  EXPECT_TRUE(search(false, {kGains}));
  EXPECT_EQ(asked_, (Sizes{16}));
  ASSERT_EQ(tuned_.steps.size(), 3u) << "nothing is left to do for the others";
  EXPECT_EQ(step(1).trials, 0u);
  EXPECT_TRUE(step(512).confirmed);
}

TEST_F(StepSearchTest, StepsThatShareLostSchedulesAreTimedAnewTwice) {
  add_found(kExperts, {1, 2, 4, 32}, &tuned_);
  EXPECT_TRUE(search(false, {kGains, kGains, kGains}));
  // The step of 16 loses what both others share with it.
  EXPECT_TRUE(search(true, {kGains, kLoses, kGainsLess, kGains}));
  EXPECT_EQ(asked_, (Sizes{1, 16, 512, 512})) << "with 1 row all have default schedules again";
  EXPECT_EQ(step(512).cost, kGainsLess.cost);
  EXPECT_EQ(step(512).trials, 18u) << "what was timed with lost schedules does not count";
  EXPECT_TRUE(step(512).confirmed);
  EXPECT_EQ(step(1).cost, TimeRatio());
}

TEST_F(StepSearchTest, StoppingLosesOneStep) {
  add_found(kDense, {1, 16, 512}, &tuned_);
  EXPECT_FALSE(search(true, {kGains}));
  EXPECT_EQ(saved_, 1u);
  EXPECT_FALSE(search(true, {kGains, kGains, kGains}));
  EXPECT_EQ(asked_, (Sizes{16, 512, 1, 16})) << "each is timed once before any is timed twice";
  EXPECT_TRUE(search(true, {kGains, kGains}));
  EXPECT_EQ(asked_, (Sizes{16, 512}));
}

}  // namespace
}  // namespace hearth
