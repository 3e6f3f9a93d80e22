#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "report/chart_drawing.h"
#include "report/report_file.h"

namespace hearth {
namespace {

ChartTable bar_table(const BarChart& chart) {
  ChartTable table;
  table.head.emplace_back("");
  for (const std::string& name : chart.series) {
    table.head.push_back(chart.series.size() > 1 ? name : chart.axis);
  }
  for (const BarGroup& group : chart.groups) {
    std::vector<std::string> row = {group.name};
    for (const auto& bar : group.bars) row.push_back(bar ? bar->label : "-");
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Returns a line chart's table; a distribution has a row for each tenth of the values.
ChartTable line_table(const LineChart& chart) {
  const bool distribution = !chart.lines.empty() && !chart.lines[0].has_markers;
  ChartTable table;
  table.head.push_back(distribution ? chart.y_axis : chart.x_axis);
  std::map<double, std::vector<std::string>> rows;
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    table.head.push_back(chart.lines[i].name);
    const auto& points = chart.lines[i].points;
    const size_t step = distribution ? std::max<size_t>((points.size() - 1) / 10, 1) : 1;
    for (size_t p = 0; p < points.size(); p += step) {
      const auto& [x, y] = points[p];
      auto& row = rows[distribution ? y : x];
      row.resize(chart.lines.size(), "-");
      row[i] = distribution ? exact_text(x, chart.x_quantity) : exact_text(y, chart.y_quantity);
    }
  }
  for (auto& [key, cells] : rows) {
    std::vector<std::string> row = {
        tick_text(key, distribution ? chart.y_quantity : chart.x_quantity)};
    row.insert(row.end(), cells.begin(), cells.end());
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string marks_text(const std::vector<Mark>& marks) {
  std::string text;
  for (const Mark& mark : marks) text += fmt::format(" Marked: {}.", mark.label);
  return text;
}

}  // namespace

ChartTable chart_table(const Chart& chart) {
  const auto* bars = std::get_if<BarChart>(&chart);
  return bars ? bar_table(*bars) : line_table(std::get<LineChart>(chart));
}

std::string chart_words(const Chart& chart) {
  const ChartTable table = chart_table(chart);
  std::string words = std::visit([](const auto& one) { return one.caption; }, chart);
  for (const auto& row : table.rows) {
    words += fmt::format(" {}:", row[0]);
    for (size_t i = 1; i < row.size(); ++i) {
      const bool named = table.head.size() > 2;
      words += fmt::format("{} {}{}", i > 1 ? "," : "", named ? table.head[i] + " " : "", row[i]);
    }
    words += ".";
  }
  if (const auto* bars = std::get_if<BarChart>(&chart)) return words + marks_text(bars->marks);
  const auto& lines = std::get<LineChart>(chart);
  return words + marks_text(lines.x_marks) + marks_text(lines.y_marks);
}

}  // namespace hearth
