#include "report/chart.h"

#include <gtest/gtest.h>

#include <regex>

#include "report/chart_drawing.h"

namespace hearth {
namespace {

BarChart two_bars() {
  return {
      .title = "Speed",
      .caption = "Of two.",
      .quantity = Quantity::kNumber,
      .axis = "tokens/s",
      .series = {"a", "b"},
      .groups = {{"decode <8>", {Bar{40, std::pair(30.0, 50.0), "40.0 tokens/s"}, std::nullopt}},
                 {"decode 9", {Bar{10, {}, "10.0 tokens/s"}, Bar{20, {}, "20.0 tokens/s"}}}},
      .marks = {{45, "limit"}}};
}

LineChart one_line() {
  return {.title = "Times",
          .caption = "Over load.",
          .x_axis = "requests a second",
          .y_axis = "",
          .y_quantity = Quantity::kSeconds,
          .lines = {{"50 %", 0, 0, {{1, 0.5}, {2, 1}, {4, 4}}}},
          .x_marks = {},
          .y_marks = {{2, "objective 2.00 s"}}};
}

// Returns {width, value} of every bar in an SVG.
std::vector<std::pair<double, double>> bars_in(const std::string& svg) {
  static const std::regex bar(
      "data-value=\"([^\"]+)\" x=\"[^\"]+\" y=\"[^\"]+\" width=\"([^\"]+)\"");
  std::vector<std::pair<double, double>> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), bar), end; it != end; ++it) {
    found.emplace_back(std::stod((*it)[2]), std::stod((*it)[1]));
  }
  return found;
}

TEST(ChartTest, BarsAreAsLongAsTheirValues) {
  const auto bars = bars_in(draw_bars(two_bars(), "c").body.made());
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0].second, 40);
  // Pixels are written with two decimals.
  for (const auto& [width, value] : bars) EXPECT_NEAR(width / value, bars[0].first / 40, 0.001);
}

TEST(ChartTest, PointsLieHigherWhereValuesAreLarger) {
  const std::string svg = draw_lines(one_line(), "c").body.made();
  static const std::regex point("data-x=\"([^\"]+)\" data-value=\"([^\"]+)\"");
  EXPECT_EQ(
      std::distance(std::sregex_iterator(svg.begin(), svg.end(), point), std::sregex_iterator()),
      3);
  static const std::regex path(
      "d=\"M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)\"");
  std::smatch at;
  ASSERT_TRUE(std::regex_search(svg, at, path)) << svg;
  const double x1 = std::stod(at[1]), x2 = std::stod(at[3]), x3 = std::stod(at[5]);
  const double y1 = std::stod(at[2]), y2 = std::stod(at[4]), y3 = std::stod(at[6]);
  EXPECT_NEAR((x3 - x2) / (x2 - x1), 2, 0.01);
  EXPECT_NEAR((y2 - y3) / (y1 - y2), 6, 0.1);
}

TEST(ChartTest, EverySeriesHasAPatternAndEveryMarkItsLabel) {
  const std::string svg = svg_text({"T", {"fact"}, {two_bars(), one_line()}, {"a note"}});
  for (const char* part :
       {"id=\"chart1-pattern-0\"", "id=\"chart1-pattern-1\"", "fill=\"url(#chart1-pattern-1)\"",
        ">limit<", ">objective 2.00 s<", ">not measured<", "decode &lt;8&gt;", "Note: a note",
        "prefers-color-scheme:dark", "aria-labelledby=\"chart2-title chart2-told\"",
        ">Speed</title>"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("<8>"), std::string::npos);
}

TEST(ChartTest, NumbersStandInTablesAndWords) {
  const ChartTable table = chart_table(two_bars());
  EXPECT_EQ(table.head, (std::vector<std::string>{"", "a", "b"}));
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"decode <8>", "40.0 tokens/s", "-"}));
  EXPECT_EQ(chart_words(two_bars()),
            "Of two. decode <8>: a 40.0 tokens/s, b -. decode 9: a 10.0 tokens/s, b 20.0 tokens/s. "
            "Marked: limit.");
  EXPECT_EQ(chart_words(one_line()),
            "Over load. 1: 500.0 ms. 2: 1.00 s. 4: 4.00 s. Marked: objective 2.00 s.");
  const std::string html = html_text({"T", {}, {two_bars()}, {}});
  EXPECT_NE(html.find("<td>40.0 tokens/s</td>"), std::string::npos);
  EXPECT_NE(html.find("default-src &#39;none&#39;"), std::string::npos);
}

TEST(ChartTest, DistributionsListTenths) {
  LineChart chart = one_line();
  chart.y_quantity = Quantity::kPart;
  chart.x_quantity = Quantity::kSeconds;
  chart.lines = {{.name = "1 req/s", .points = {}, .has_markers = false}};
  for (int i = 0; i <= 100; ++i) chart.lines[0].points.emplace_back(i * 0.01, i / 100.0);
  const ChartTable table = chart_table(chart);
  ASSERT_EQ(table.rows.size(), 11u);
  EXPECT_EQ(table.rows[5], (std::vector<std::string>{"50 %", "500.0 ms"}));
}

}  // namespace
}  // namespace hearth
