#include "cli/tune_args.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;

TEST(TuneArgs, BudgetsAreTimes) {
  EXPECT_EQ(parse_budget("90s"), 90);
  EXPECT_EQ(parse_budget("10m"), 600);
  EXPECT_EQ(parse_budget("1.5h"), 5400);
  for (const char* bad : {"", "10", "m", "10 m", "-3m", "0s", "nanm", "169h", "1e9h", "10mm"}) {
    EXPECT_THROW(parse_budget(bad), Error) << bad;
  }
}

TEST(TuneArgs, TracesGiveQuartilesAndTheMiddleOfARequest) {
  TuneCases cases =
      cases_of_trace("prompt,output\n100,20\n200, 40\r\n300,60\n400,80\n500,100\n", 2048, 4096);
  EXPECT_EQ(cases.prompts, (Numbers{200, 300, 400}));
  EXPECT_EQ(cases.depth, 330u);
  cases = cases_of_trace("9000,9000\n\n", 2048, 4096);
  EXPECT_EQ(cases.prompts, Numbers{2048});
  EXPECT_EQ(cases.depth, 4096u);
}

TEST(TuneArgs, TracesThatAreNoneAreRefusedWithTheirLine) {
  auto refusal = [](const char* text) -> std::string {
    try {
      cases_of_trace(text, 2048, 4096);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal("1,2\n3\n"),
            "line 2 of the trace is no 'prompt,output', two numbers of tokens up to 1048576");
  EXPECT_EQ(refusal("1,2\n3,x\n").substr(0, 6), "line 2");
  EXPECT_EQ(refusal("1,2\n3,99999999999\n").substr(0, 6), "line 2");
  EXPECT_EQ(refusal("1,2\n0,4\n").substr(0, 6), "line 2");
  EXPECT_EQ(refusal("prompt,output\n"),
            "the trace has no request: give a line 'prompt,output' for each");
}

}  // namespace
}  // namespace hearth
