// Charts as SVG: each an element of its own, named and described in words for those who do not see
// it.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/markup.h"

namespace hearth {

struct Drawing {
  Markup body;        // what stands within the chart's <svg>
  double height = 0;  // of kChartWidth
};

// `chart` is the beginning of all ids within; patterns are defined already.
Drawing draw_bars(const BarChart& bars, const std::string& chart);
Drawing draw_lines(const LineChart& lines, const std::string& chart);

// The numbers of a chart: a head, and rows of as many cells; the first cell names the row.
struct ChartTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
ChartTable chart_table(const Chart& chart);
// Returns the chart's figures in sentences.
std::string chart_words(const Chart& chart);

}  // namespace hearth
