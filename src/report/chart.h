// Charts as data: what is drawn, apart from how (chart_drawing.h) and from what report it came
// (report_charts.h). Bars in groups, one bar a series; lines over an axis.
//
// Each is held against marks, lines at a value: limits, objectives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/scale.h"

namespace hearth {

inline constexpr uint32_t kMostSeries = 8;  // that differ in colour, pattern, dashes and marker

struct Mark {
  double value = 0;
  std::string label;  // "objective 2 s"
  bool operator==(const Mark&) const = default;
};

struct Bar {
  double value = 0;
  std::optional<std::pair<double, double>> range;  // least and most of what was measured
  std::string label;                               // "61.3 tokens/s"
};

struct BarGroup {
  std::string name;
  std::vector<std::optional<Bar>> bars;  // one for each series; none: not measured
};

struct BarChart {
  std::string title, told;  // told: a sentence about what is shown
  Quantity quantity = Quantity::kNumber;
  std::string axis;                 // "tokens a second"
  std::vector<std::string> series;  // one: it needs no name
  std::vector<BarGroup> groups;
  std::vector<Mark> marks;
};

struct Line {
  std::string name;
  uint32_t colour = 0, dash = 0;                  // each below kMostSeries
  std::vector<std::pair<double, double>> points;  // x rises
  bool has_markers = true;
};

struct LineChart {
  std::string title, told;
  std::string x_axis, y_axis;
  Quantity x_quantity = Quantity::kNumber, y_quantity = Quantity::kNumber;
  std::vector<Line> lines;
  std::vector<Mark> x_marks, y_marks;
};

using Chart = std::variant<BarChart, LineChart>;

// The contents of one file.
struct ChartPage {
  std::string title;
  std::vector<std::string> facts;  // of what and where it was measured, a line each
  std::vector<Chart> charts;
  std::vector<std::string> notes;  // on what makes figures doubtful
};

// One file, without scripts and without anything from elsewhere: charts below one another, or a
// page with the numbers of each chart in a table below it.
std::string svg_text(const ChartPage& page);
std::string html_text(const ChartPage& page);

}  // namespace hearth
