// Draws charts as SVG. Each is an element of its own, with a name and a description in words for
// screen readers.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/markup.h"

namespace hearth {

struct Drawing {
  Markup body;        // the contents of the chart's <svg>
  double height = 0;  // for a width of kChartWidth
};

// Draw a chart. `chart`: the prefix of all its ids; the patterns must be defined already.
Drawing draw_bars(const BarChart& bars, const std::string& chart);
Drawing draw_lines(const LineChart& lines, const std::string& chart);

// The numbers of a chart as a table: a head, and rows with as many cells; a row's first cell is its
// name.
struct ChartTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
ChartTable chart_table(const Chart& chart);
// Returns the chart's figures in sentences.
std::string chart_words(const Chart& chart);

}  // namespace hearth
