#include "cli/tune_report.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(TuneReport, SaysWhatWasNotDecidedAndWhy) {
  TuneDoubt doubt;
  EXPECT_EQ(doubt_text(doubt, "plan"), "");
  doubt.open = {2, {0.96, 0.9, 1.02}};
  doubt.cpus = CpuShares{0.05, 0.34};
  EXPECT_EQ(
      doubt_text(doubt, "plan"),
      "  not decided: 2 plans may save up to 4.0 % (-2.0 to 10.0): other programs had 34 % of "
      "the CPUs, the host took 5 % of the CPUs away\n");
  doubt.open.count = 1;
  doubt.cpus = CpuShares{0.05, 0.001};
  EXPECT_EQ(doubt_text(doubt, "schedule"),
            "  not decided: 1 schedule may save up to 4.0 % (-2.0 to 10.0): the host took 5 % of "
            "the CPUs away\n");
  doubt.cpus.reset();
  EXPECT_EQ(doubt_text(doubt, "plan"),
            "  not decided: 1 plan may save up to 4.0 % (-2.0 to 10.0): trials scatter too much\n");
}

TEST(TuneReport, PutsItIntoTheJsonWithWhatIsLeft) {
  TuningResult result;
  TuneOutcome& of = result.outcomes.emplace_back();
  of.start = of.chosen = even_plan(Phase::kDecode, 16, 1, 1, 4);
  of.doubt = {{2, {0.96, 0.9, 1.02}}, CpuShares{0.25, 0.5}};
  result.left = {"plans of prefill", "kernels"};
  const std::string json = outcomes_json(result, true);
  for (const char* part :
       {"\"undecided\":2,\"others_share\":0.5,\"stolen_share\":0.25",
        "\"kernels\":{\"undecided\":0}", "\"left\":[\"plans of prefill\",\"kernels\"]"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

}  // namespace
}  // namespace hearth
