// Tests of measuring the thresholds between the phases on an engine: which are tried and kept, and
// how a search continues with the trials of a file. The machine decides which wins, and no test
// depends on it.
#include "tune/threshold_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tuner_test.h"

namespace hearth {
namespace {

class ThresholdTunerTest : public TunerTest {
 protected:
  ThresholdTunerTest() : TunerTest({.sequences = {1, 5}, .depth = 20, .prompts = {30}}, 2) {}
  bool tune(const EnginePlan& plan) {
    return ThresholdTuner(*engine_, cases_, *timer_, hooks_).tune(plan, 4, &tuned_);
  }

  Tuned tuned_;
};

TEST_F(ThresholdTunerTest, CandidatesAreWhatStepsReach) {
  EnginePlan plan = engine_->plan();
  EXPECT_EQ(threshold_candidates(plan), (std::vector<uint32_t>{4, 8, 32, 64}));
  plan.prefill.max_rows = 40;
  plan.decode.max_rows = 8;
  EXPECT_EQ(threshold_candidates(plan), (std::vector<uint32_t>{4, 16, 32}));
  plan.prefill.max_rows = plan.decode.max_rows = 3;
  EXPECT_TRUE(threshold_candidates(plan).empty());
}

TEST_F(ThresholdTunerTest, StepsOfTheRowsBetweenAreMeasured) {
  EXPECT_EQ(rows_between(16, 64), (std::vector<uint32_t>{40, 64}));
  EXPECT_EQ(rows_between(16, 4), (std::vector<uint32_t>{10, 16}));
  EXPECT_EQ(rows_between(4, 5), (std::vector<uint32_t>{5}));
}

TEST_F(ThresholdTunerTest, MeasuresEachCandidateOnceAndKeepsIt) {
  const EnginePlan before = engine_->plan();
  uint32_t reported = 0;
  hooks_.progress = [&](const TuneProgress&) { ++reported; };
  ASSERT_TRUE(tune(before));
  ASSERT_EQ(tuned_.threshold_trials.size(), 4u);
  EXPECT_EQ(saved_, 4u);
  ASSERT_TRUE(tuned_.threshold.has_value());
  const TunedThreshold found = *tuned_.threshold;
  EXPECT_EQ(found.trials, reported);
  EXPECT_GE(reported, 12u) << "three pairs at least of each";
  EXPECT_LE(reported, 16u);
  for (const ThresholdTrial& trial : tuned_.threshold_trials) {
    EXPECT_GT(trial.cost.low, 0);
    EXPECT_GT(trial.dearest, 0);
  }
  // The chosen number is the default, or saves at least 1 % with certainty.
  if (found.rows == before.decode.max_rows) {
    EXPECT_EQ(found.cost, TimeRatio());
  } else {
    EXPECT_LE(found.cost.high, 0.99);
  }
  EXPECT_EQ(engine_->plan().decode, before.decode) << "the engine goes on as before";
  // A second search has nothing left to measure, and chooses the same.
  ASSERT_TRUE(tune(before));
  EXPECT_EQ(saved_, 4u);
  EXPECT_EQ(tuned_.threshold->rows, found.rows);
  EXPECT_EQ(tuned_.threshold->trials, 0u);
  // Trials of one plan do not count for another plan, so all are made again.
  EnginePlan other = before;
  other.prefill.groups = {{{0}, {0, 1, 0, 1}}};
  ASSERT_TRUE(tune(other));
  EXPECT_EQ(tuned_.threshold_trials.size(), 8u);
}

TEST_F(ThresholdTunerTest, MeasuredCostsDecide) {
  const EnginePlan plan = engine_->plan();
  ASSERT_TRUE(tune(plan));
  const std::vector<ThresholdTrial> measured = tuned_.threshold_trials;
  auto found = [&](std::initializer_list<std::pair<TimeRatio, double>> costs) {
    tuned_.threshold_trials = measured;
    size_t i = 0;
    for (const auto& [cost, dearest] : costs) {
      tuned_.threshold_trials[i].cost = cost;
      tuned_.threshold_trials[i++].dearest = dearest;
    }
    EXPECT_TRUE(tune(plan));
    return tuned_.threshold->rows;
  };
  const TimeRatio saves{0.9, 0.85, 0.95}, saves_more{0.8, 0.7, 0.98}, unsure{0.7, 0.4, 1.2};
  EXPECT_EQ(found({{saves, 1}, {saves_more, 1}, {unsure, 1}, {saves, 1}}), 8u);
  EXPECT_EQ(found({{saves, 1}, {unsure, 1}, {unsure, 1}, {saves_more, 1.05}}), 4u)
      << "some case would be slower by a twentieth";
  EXPECT_EQ(found({{unsure, 1}, {unsure, 1}, {unsure, 1}, {unsure, 1}}), 16u);
  EXPECT_EQ(tuned_.threshold->cost, TimeRatio());
}

TEST_F(ThresholdTunerTest, StoppingLosesOneCandidate) {
  hooks_.stop = [&](double) { return saved_ == 1; };
  EXPECT_FALSE(tune(engine_->plan()));
  EXPECT_FALSE(tuned_.threshold.has_value());
  EXPECT_LT(tuned_.threshold_trials.size(), 3u);
  EXPECT_GT(saved_, 0u);
  EXPECT_EQ(saved_, tuned_.threshold_trials.size());
  hooks_.stop = [](double) { return false; };
  EXPECT_TRUE(tune(engine_->plan()));
  EXPECT_EQ(tuned_.threshold_trials.size(), 4u);
}

}  // namespace
}  // namespace hearth
