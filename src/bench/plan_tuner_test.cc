#include "bench/plan_tuner.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hearth {
namespace {

TEST(RatioTrials, GivesTheIntervalOfStudentsT) {
  RatioTrials trials;
  trials.add(0.5);
  EXPECT_EQ(trials.ratio().low, 0);
  EXPECT_TRUE(std::isinf(trials.ratio().high));
  trials.add(2);
  EXPECT_NEAR(trials.ratio().ratio, 1, 1e-12);
  // Logarithms -l and l deviate by l sqrt(2), their mean by l: t of one degree of freedom.
  EXPECT_NEAR(trials.ratio().high, std::pow(2, 12.706), 1e-6 * std::pow(2, 12.706));
  RatioTrials many;
  for (int i = 0; i < 100; ++i) many.add(i % 2 == 0 ? 0.9 : 0.92);
  EXPECT_NEAR(many.ratio().ratio, std::sqrt(0.9 * 0.92), 1e-12);
  EXPECT_GT(many.ratio().low, 0.9);
  EXPECT_LT(many.ratio().high, 0.92);
  EXPECT_EQ(many.count(), 100u);
}

TEST(TuneCases, AskForWhatTheyNeed) {
  TuneCases cases;
  cases.sequences = {1, 30};
  cases.depth = 100;
  cases.prompts = {40, 700};
  const EngineOptions options = cases.engine_options();
  EXPECT_EQ(options.sequences, 30u);
  EXPECT_EQ(options.outputs, 30u);
  EXPECT_EQ(options.context, 700u);
  const PlanWorkload decode = cases.workload(even_plan(Phase::kDecode, 16, 1, 1, 2));
  ASSERT_EQ(decode.steps.size(), 1u) << "thirty rows are no decode step";
  EXPECT_EQ(decode.steps[0].depth, 100u);
  const PlanWorkload prefill = cases.workload(even_plan(Phase::kPrefill, 512, 1, 1, 2));
  ASSERT_EQ(prefill.steps.size(), 2u);
  EXPECT_EQ(prefill.steps[1].rows, 512u);
}

}  // namespace
}  // namespace hearth
