#include "bench/tune_cases.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(TuneCases, AskForWhatTheyNeed) {
  TuneCases cases;
  cases.sequences = {1, 30};
  cases.depth = 100;
  cases.prompts = {40, 700};
  const EngineOptions options = cases.engine_options();
  EXPECT_EQ(options.sequences, 31u) << "a prompt comes beside them";
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
