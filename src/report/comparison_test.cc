#include "report/comparison.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "report/test_reports.h"

namespace hearth {
namespace {

ReportFile named(const std::string& text, const std::string& name) {
  ReportFile report = read_report(text, name);
  report.name = name;
  return report;
}

Comparison steps_compared(double a, double b) {
  return compare({named(json(measured_steps(a)), "a"), named(json(measured_steps(b)), "b")});
}

TEST(ComparisonTest, SaysWhoIsBetter) {
  const std::string text = squeezed(markdown(steps_compared(80, 100)));
  EXPECT_NE(text.find("| Writing answers | decode 100, 4 sequences | 80.0 tokens/s | "
                      "100.0 tokens/s | +25.0 % (better) |"),
            std::string::npos)
      << text;
  EXPECT_NE(squeezed(markdown(steps_compared(80, 80.5))).find("+0.6 % (within the spread)"),
            std::string::npos);
}

TEST(ComparisonTest, LessTimeIsBetter) {
  FigureSet set;
  set.more_is_better = false;
  EXPECT_EQ(change_of(set, {"", {}, 2}, {"", {}, 1}), Change::kBetter);
  EXPECT_EQ(change_of(set, {"", {}, 1}, {"", {}, 2}), Change::kWorse);
  EXPECT_EQ(change_of(set, {"", {}, 1}, {"", {}, 1}), Change::kNone);
  set.more_is_better = true;
  EXPECT_EQ(change_of(set, {"", {}, 1, std::pair(0.5, 1.5)}, {"", {}, 2, std::pair(1.5, 3.0)}),
            Change::kWithinSpread);
  EXPECT_EQ(change_of(set, {"", {}, 1, std::pair(0.5, 1.4)}, {"", {}, 2, std::pair(1.5, 3.0)}),
            Change::kBetter);
}

TEST(ComparisonTest, JsonHasTheValuesOfTheReports) {
  const auto caption = read_json(json(steps_compared(80, 100)));
  for (const auto& row : caption.at("figures").as_array()) {
    if (row.at("figure").as_string() != "Writing answers") continue;
    EXPECT_DOUBLE_EQ(row.at("values").at(0).at("value").as_double(), 80);
    EXPECT_DOUBLE_EQ(row.at("values").at(1).at("value").as_double(), 100);
    EXPECT_EQ(row.at("changes").at(0).as_string(), "better");
    return;
  }
  ADD_FAILURE() << "no figure";
}

TEST(ComparisonTest, FiguresOfOneReportOnlyAreNull) {
  BenchReport other = measured_steps(80);
  other.runs[0].results[0].what.tokens = 50;
  const Comparison both = compare({named(json(measured_steps(80)), "a"), named(json(other), "b")});
  const std::string text = csv(both);
  EXPECT_NE(text.find("Writing answers,\"decode 100, 4 sequences\",tokens/s,80,\n"),
            std::string::npos)
      << text;
}

TEST(ComparisonTest, MarksOfLaterReportsOnlyGetTheirNames) {
  FigureSet set;
  set.figures = {{"decode", 1, 2}};
  ReportFile a, b;
  a.name = "a";
  b.name = "b";
  set.marks = {{1, "least"}, {2, "objective"}};
  a.add(set);
  set.marks = {{1, "least"}, {2, "objective"}, {3, "objective"}};
  b.add(set);
  const std::vector<Mark> expected = {{1, "least"}, {2, "objective"}, {3, "objective (b)"}};
  EXPECT_EQ(compare({a, b}).sets.at(0).about.marks, expected);
}

TEST(ComparisonTest, RefusesKindsAndCrowds) {
  const ReportFile steps = named(json(measured_steps(80)), "a");
  EXPECT_THROW(compare({steps, named(json(served({1})), "b")}), Error);
  EXPECT_THROW(compare(std::vector<ReportFile>(kMaxSeries + 1, steps)), Error);
}

TEST(ComparisonTest, SeveralLoadsAreLinesAndOneIsBars) {
  const ChartPage lines = charts(compare({read_report(json(served({1, 2})), "r")}));
  const auto* chart = std::get_if<LineChart>(&lines.charts[1]);
  ASSERT_NE(chart, nullptr);
  EXPECT_EQ(chart->title, "Time to the first token");
  ASSERT_EQ(chart->lines.size(), 3u);
  EXPECT_NE(chart->lines[0].colour, chart->lines[1].colour);
  EXPECT_NE(chart->lines[0].dash, chart->lines[1].dash);
  EXPECT_EQ(chart->y_marks.size(), 1u);
  const auto& distribution = std::get<LineChart>(lines.charts[2]);
  EXPECT_EQ(distribution.lines.size(), 2u);
  EXPECT_EQ(distribution.lines[0].points.back(), std::pair(0.4, 1.0));
  const ChartPage bars = charts(compare({read_report(json(served({1})), "r")}));
  EXPECT_NE(std::get_if<BarChart>(&bars.charts[1]), nullptr);
  EXPECT_EQ(std::get<BarChart>(bars.charts[1]).groups.size(), 3u);
}

TEST(ComparisonTest, DistributionsOfTheSameLoadStandTogether) {
  const ChartPage page =
      charts(compare({named(json(served({1, 2})), "a"), named(json(served({2, 4})), "b")}));
  int distributions = 0;
  for (const Chart& chart : page.charts) {
    const auto* lines = std::get_if<LineChart>(&chart);
    if (!lines || !lines->title.starts_with("First tokens")) continue;
    ++distributions;
    EXPECT_EQ(lines->title, "First tokens within a time: 2 req/s");
    EXPECT_EQ(lines->lines[1].name, "b");
  }
  EXPECT_EQ(distributions, 1);
}

}  // namespace
}  // namespace hearth
