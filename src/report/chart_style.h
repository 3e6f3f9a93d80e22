// The style of charts: colours for light and dark pages, and for each series a colour, a pattern of
// bars, and dashes and a marker of lines, so that series also differ in grey.
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
inline constexpr double kMarkRow = 16;  // height of an upright mark's label

// Return the CSS rules for charts, and for the page around them.
std::string chart_rules();
std::string page_rules();

// Defines the patterns of the first `series` series; `chart` is the prefix of their ids.
void define_patterns(Markup& out, const std::string& chart, size_t series);
// Returns the `fill` of a series' bars.
std::string pattern_fill(const std::string& chart, size_t series);
// Returns the "stroke-dasharray" of a dash; empty: a solid line.
std::string_view dashes(uint32_t dash);
// Draws the marker of a line's point.
void draw_marker(Markup& out, uint32_t colour, double x, double y);

// Draws a text. `anchor`: "start", "middle" or "end"; `kind`: a class in chart_rules().
void draw_text(Markup& out, std::string_view kind, double x, double y, std::string_view anchor,
               std::string_view text);
// Draws a mark from its label down to `bottom` at `x`; the label stays within the chart.
void draw_upright_mark(Markup& out, const std::string& label, double x, double y, double bottom);
void draw_line(Markup& out, std::string_view kind, double x1, double y1, double x2, double y2);

// Draws a legend's keys in rows from `top` down, and returns where they end.
struct LegendKey {
  std::string name;
  uint32_t colour = 0, dash = 0;
  bool is_bar = false, has_marker = true;
};
double draw_legend(Markup& out, const std::string& chart, const std::vector<LegendKey>& keys,
                   double top);

}  // namespace hearth
