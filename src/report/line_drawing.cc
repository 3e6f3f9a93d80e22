#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/chart_drawing.h"
#include "report/chart_style.h"

namespace hearth {
namespace {

constexpr double kPlotHeight = 250, kPlotAxisRow = 46, kTickGap = 8, kTopRow = 30;

// The positions in a line chart. Points keep kInset pixels away from the edges.
struct LinePlace {
  static constexpr double kInset = 14;

  double left = 0, top = 0;
  Scale across, up;

  double right() const { return kChartWidth - 2; }
  double bottom() const { return top + kPlotHeight; }
  double x(double value) const {
    const double inset = across.logarithmic ? kInset : 0;
    return left + inset + (right() - left - inset - kInset) * across.part(value);
  }
  double y(double value) const { return bottom() - kPlotHeight * up.part(value); }
};

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = 0;

  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

LinePlace line_place(const LineChart& chart, double top) {
  Extent across, up;
  for (const Line& line : chart.lines) {
    for (const auto& [x, y] : line.points) {
      across.take(x);
      up.take(y);
    }
  }
  for (const Mark& mark : chart.x_marks) across.take(mark.value);
  for (const Mark& mark : chart.y_marks) up.take(mark.value);
  LinePlace place;
  const size_t rows = std::max<size_t>(chart.x_marks.size(), 1);
  place.top = top + kTopRow + static_cast<double>(rows - 1) * kMarkRow;
  place.across = scale_over(across.least, across.most);
  place.up = chart.y_quantity == Quantity::kPart ? linear_scale(1) : scale_over(up.least, up.most);
  double widest = 0;
  for (double tick : place.up.ticks) {
    widest = std::max(widest, text_width(tick_text(tick, chart.y_quantity), kSmallSize));
  }
  place.left = widest + kTickGap + 2;
  return place;
}

void draw_axes(Markup& out, const LineChart& chart, const LinePlace& place) {
  const double bottom = place.bottom();
  for (double tick : place.up.ticks) {
    const double y = place.y(tick);
    draw_line(out, tick == place.up.low ? "axis" : "grid", place.left, y, place.right(), y);
    draw_text(out, "quiet small", place.left - kTickGap, y + 4, "end",
              tick_text(tick, chart.y_quantity));
  }
  for (double tick : place.across.ticks) {
    const double x = place.x(tick);
    draw_line(out, "grid", x, place.top, x, bottom);
    draw_line(out, "axis", x, bottom, x, bottom + 4);
    draw_text(out, "quiet small", x, bottom + 18, "middle", tick_text(tick, chart.x_quantity));
  }
  draw_text(out, "quiet small", 0, place.top - 16, "start", chart.y_axis);
  draw_text(out, "quiet small", place.right(), bottom + 36, "end", chart.x_axis);
}

void draw_line_marks(Markup& out, const LineChart& chart, const LinePlace& place) {
  for (const Mark& mark : chart.y_marks) {
    const double y = place.y(mark.value);
    draw_line(out, "mark", place.left, y, place.right(), y);
    draw_text(out, "ink small strong halo", place.left + 6, y - 5, "start", mark.label);
  }
  double label = place.top - 6;
  for (const Mark& mark : chart.x_marks) {
    draw_upright_mark(out, mark.label, place.x(mark.value), label, place.bottom());
    label -= kMarkRow;
  }
}

void draw_one_line(Markup& out, const LineChart& chart, const LinePlace& place, const Line& line) {
  std::string path;
  for (const auto& [x, y] : line.points) {
    path +=
        fmt::format("{}{} {}", path.empty() ? "M" : "L", pixels(place.x(x)), pixels(place.y(y)));
  }
  out.begin("g", {{"class", "series"}}).with("title", {}, line.name);
  out.leaf("path", {{"class", fmt::format("line l{}", line.colour)},
                    {"stroke-dasharray", std::string(dashes(line.dash))},
                    {"d", path}});
  for (const auto& [x, y] : line.points) {
    if (!line.has_markers) break;
    out.begin("g", {{"data-x", all_digits(x)}, {"data-value", all_digits(y)}});
    out.with("title", {},
             fmt::format("{}, {}: {}", line.name, tick_text(x, chart.x_quantity),
                         tick_text(y, chart.y_quantity)));
    draw_marker(out, line.colour, place.x(x), place.y(y));
    out.end();
  }
  out.end();
}

}  // namespace

Drawing draw_lines(const LineChart& lines, const std::string& chart) {
  Drawing drawing;
  std::vector<LegendKey> keys;
  for (const Line& line : lines.lines) {
    if (lines.lines.size() == 1) break;  // a single line is named by the title
    keys.push_back({line.name, line.colour, line.dash, false, line.has_markers});
  }
  const LinePlace place = line_place(lines, draw_legend(drawing.body, chart, keys, 0));
  draw_axes(drawing.body, lines, place);
  for (const Line& line : lines.lines) draw_one_line(drawing.body, lines, place, line);
  draw_line_marks(drawing.body, lines, place);
  drawing.height = place.bottom() + kPlotAxisRow;
  return drawing;
}

}  // namespace hearth
