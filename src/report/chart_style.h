// How charts look: colours for light and dark, and for each series, beside its colour, a pattern
// of bars, dashes and a marker of lines, so that series differ in grey too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"
#include "report/markup.h"

namespace hearth {

inline constexpr double kChartWidth = 880;
inline constexpr double kTextSize = 13, kSmallSize = 12;
inline constexpr double kMarkRow = 16;  // labels of upright marks stand above one another

// The rules for everything that charts draw, and those of a page around them.
std::string chart_rules();
std::string page_rules();

// Definitions of the patterns of the first `series`; `chart` makes their names the chart's own.
void define_patterns(Markup& out, const std::string& chart, size_t series);
// Returns the filling of the series' bars.
std::string pattern_fill(const std::string& chart, size_t series);
// "stroke-dasharray", of the lines of a dash; empty: whole.
std::string_view dashes(uint32_t dash);
// The marker of a point of a line.
void draw_marker(Markup& out, uint32_t colour, double x, double y);

// A text at a place. `anchor` is "start", "middle" or "end", `kind` a class of chart_rules().
void draw_text(Markup& out, std::string_view kind, double x, double y, std::string_view anchor,
               std::string_view text);
// A mark at `x` down to `bottom`, below its label, which stays within the chart.
void draw_upright_mark(Markup& out, const std::string& label, double x, double y, double bottom);
void draw_line(Markup& out, std::string_view kind, double x1, double y1, double x2, double y2);

// Keys of a chart's series, in rows from `top` on. Returns where they end.
struct LegendKey {
  std::string name;
  uint32_t colour = 0, dash = 0;
  bool is_bar = false, has_marker = true;
};
double draw_legend(Markup& out, const std::string& chart, const std::vector<LegendKey>& keys,
                   double top);

}  // namespace hearth
