#include "tune/tune_cases.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;

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

TEST(TuneCases, CasesOfAnEncoderFitItsContext) {
  ModelSpec spec;
  EXPECT_EQ(cases_for(spec, {}).sequences, (Numbers{1, 4, 16}));
  spec.layers.resize(1);
  spec.layers[0].blocks.emplace_back().body = AttentionBlock{.mask = Mask::kBidirectional};
  ASSERT_TRUE(spec.is_encoder());
  spec.hyper.context = 2048;
  TuneCases cases = cases_for(spec, {.prompts = {600, 40, 512}});
  EXPECT_EQ(cases.sequences, (Numbers{4, 16}));
  EXPECT_EQ(cases.prompts, (Numbers{40, 512})) << "a text has one step";
  EXPECT_EQ(cases.engine_options().context, 512u);
  spec.hyper.context = 24;
  cases = cases_for(spec, {});
  EXPECT_EQ(cases.prompts, Numbers{24});
  EXPECT_EQ(cases.engine_options().context, 24u);
}

TEST(TuneCases, TracesGiveQuartilesAndTheMiddleOfARequest) {
  TuneCases cases = cases_of_trace("prompt,output\n100,20\n200, 40\r\n300,60\n400,80\n500,100\n");
  EXPECT_EQ(cases.prompts, (Numbers{200, 300, 400}));
  EXPECT_EQ(cases.depth, 330u);
  cases = cases_of_trace("9000,9000\n\n");
  EXPECT_EQ(cases.prompts, Numbers{2048});
  EXPECT_EQ(cases.depth, 4096u);
}

TEST(TuneCases, TracesThatAreNoneAreRefusedWithTheirLine) {
  auto refusal = [](const char* text) -> std::string {
    try {
      cases_of_trace(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal("1,2\n3\n"),
            "line 2 of the trace is not 'prompt,output' with two numbers of tokens up to 1048576");
  EXPECT_EQ(refusal("1,2\n3,x\n").substr(0, 6), "line 2");
  EXPECT_EQ(refusal("1,2\n3,99999999999\n").substr(0, 6), "line 2");
  EXPECT_EQ(refusal("1,2\n0,4\n").substr(0, 6), "line 2");
  EXPECT_EQ(refusal("prompt,output\n"),
            "the trace has no request: give a line 'prompt,output' for each");
}

}  // namespace
}  // namespace hearth
