#include "report/report_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bench/serve_report.h"
#include "bench/test_report.h"
#include "report/test_reports.h"

namespace hearth {
namespace {

const FigureSet* find_set(const ReportFile& report, const std::string& chart,
                          const std::string& name = "") {
  for (const FigureSet& set : report.sets) {
    if (set.chart == chart && (name.empty() || set.name == name)) return &set;
  }
  return nullptr;
}

TEST(ReportFileTest, ReadsStepsAsTheyWereWritten) {
  const ReportFile report = read_report(json(measured_steps(80)), "r");
  EXPECT_EQ(report.title, "m.gguf");
  EXPECT_EQ(report.facts[0], "llama, q8_0, 1.50 B parameters, 3.00 MiB; avx2 kernels; 2 threads");
  const FigureSet* decode = find_set(report, "Writing answers");
  ASSERT_NE(decode, nullptr);
  EXPECT_EQ(decode->figures[0].what, "decode 100, 4 sequences");
  EXPECT_DOUBLE_EQ(decode->figures[0].value, 80);
  const FigureSet* share = find_set(report, "Share of the limit");
  ASSERT_NE(share, nullptr);
  EXPECT_DOUBLE_EQ(share->figures[0].value, 0.5);
  EXPECT_EQ(share->figures[0].note, "of read, 10.0 GB/s");
  EXPECT_EQ(value_text(*share, 0.5), "50.0 %");
  EXPECT_EQ(find_set(report, "Reading prompts"), nullptr);
  EXPECT_DOUBLE_EQ(find_set(report, "Reading memory at best")->figures[0].value, 20);
}

TEST(ReportFileTest, ReadsLoadsOfAServer) {
  const ReportFile report = read_report(json(served({1, 2})), "r");
  const FigureSet* times = find_set(report, "Time to the first token", "99 %");
  ASSERT_NE(times, nullptr);
  EXPECT_EQ(times->axis, "requests a second");
  EXPECT_EQ(times->figures[1].what, "2 req/s");
  EXPECT_EQ(times->figures[1].x, 2);
  EXPECT_EQ(times->marks, (std::vector<Mark>{{0.5, "objective 500.0 ms"}}));
  ASSERT_EQ(report.distributions.size(), 2u);
  EXPECT_EQ(report.distributions[0].quantiles.size(), 101u);
  EXPECT_DOUBLE_EQ(report.distributions[0].quantiles.back(), 0.4);
}

TEST(ReportFileTest, RefusesWhatIsNoReport) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"{", "r is not a report"},
           {"[]", "r has no value 'schema'"},
           {"{\"schema\":\"hearth-bench-1\"}", "'hearth-bench-1'"},
           {"{\"schema\":\"hearth-bench-2\"}", "r has no value 'runs'"},
           {"{\"schema\":\"hearth-bench-2\",\"runs\":[1]}", "array of objects 'runs'"},
           {"{\"schema\":7}", "text 'schema'"}}) {
    try {
      read_report(text, "r");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFile);
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  std::string bad = json(measured_steps(80));
  bad.replace(bad.find("tokens_per_second"), 17, "tokens_per_moment");
  EXPECT_THROW(read_report(bad, "r"), Error);
}

TEST(ReportFileTest, NamesOfOthersDoNotReachTheTerminalAsTheyAre) {
  BenchReport report = measured_steps(80);
  report.model->file = "a\x1b[2J";
  EXPECT_EQ(read_report(json(report), "r").title, "a\\x1b[2J");
}

}  // namespace
}  // namespace hearth
