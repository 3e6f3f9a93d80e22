// Charts as data: chart_drawing.h draws them, report_charts.h makes them from reports. A BarChart
// has groups of bars, with one bar for each series; a LineChart has lines over an axis.
//
// Both kinds of chart may have marks: lines at a value, such as limits and objectives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/scale.h"

namespace hearth {

inline constexpr uint32_t kMaxSeries = 8;  // with different colours, patterns, dashes and markers

struct Mark {
  double value = 0;
  std::string label;  // "objective 2 s"
  bool operator==(const Mark&) const = default;
};

struct Bar {
  double value = 0;
  std::optional<std::pair<double, double>> range;  // smallest and largest measured value
  std::string label;                               // "61.3 tokens/s"
};

struct BarGroup {
  std::string name;
  std::vector<std::optional<Bar>> bars;  // by series; nothing: not measured
};

struct BarChart {
  std::string title, caption;  // caption: a sentence about what is shown
  Quantity quantity = Quantity::kNumber;
  std::string axis;                 // "tokens a second"
  std::vector<std::string> series;  // a single one needs no name
  std::vector<BarGroup> groups;
  std::vector<Mark> marks;
};

struct Line {
  std::string name;
  uint32_t colour = 0, dash = 0;                  // both below kMaxSeries
  std::vector<std::pair<double, double>> points;  // with rising x
  bool has_markers = true;
};

struct LineChart {
  std::string title, caption;
  std::string x_axis, y_axis;
  Quantity x_quantity = Quantity::kNumber, y_quantity = Quantity::kNumber;
  std::vector<Line> lines;
  std::vector<Mark> x_marks, y_marks;
};

using Chart = std::variant<BarChart, LineChart>;

// ChartPage: the contents of one file.
struct ChartPage {
  std::string title;
  std::vector<std::string> facts;  // lines on what was measured, and where
  std::vector<Chart> charts;
  std::vector<std::string> notes;  // on doubts about the figures
};

// Return a file without scripts and external resources: svg_text() has the charts below one
// another; html_text() is a page that also has each chart's numbers in a table.
std::string svg_text(const ChartPage& page);
std::string html_text(const ChartPage& page);

}  // namespace hearth
