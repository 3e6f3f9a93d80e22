#include <fmt/format.h>

#include <algorithm>

#include "report/chart_drawing.h"
#include "report/chart_style.h"

namespace hearth {
namespace {

constexpr double kBar = 18, kBarGap = 3, kGroupGap = 13;
constexpr double kMaxNameWidth = 300, kNameGap = 12, kLabelGap = 8;
constexpr double kAxisRow = 44;

// The positions in a bar chart.
struct BarPlace {
  double left = 0, width = 0, top = 0, bottom = 0;
  Scale scale;

  double x(double value) const { return left + width * scale.part(value); }
};

double max_of(const BarChart& chart) {
  double most = 0;
  for (const BarGroup& group : chart.groups) {
    for (const auto& bar : group.bars) {
      if (!bar) continue;
      most = std::max({most, bar->value, bar->range ? bar->range->second : 0});
    }
  }
  for (const Mark& mark : chart.marks) most = std::max(most, mark.value);
  return most;
}

double group_height(const BarGroup& group) {
  return static_cast<double>(group.bars.size()) * (kBar + kBarGap) - kBarGap;
}

BarPlace bar_place(const BarChart& chart, double top) {
  BarPlace place;
  double names = 0, labels = 0, height = 0;
  for (const BarGroup& group : chart.groups) {
    names = std::max(names, text_width(group.name, kTextSize));
    height += group_height(group) + kGroupGap;
    for (const auto& bar : group.bars) {
      if (bar) labels = std::max(labels, text_width(bar->label, kTextSize));
    }
  }
  place.left = std::min(names, kMaxNameWidth) + kNameGap;
  place.width = std::max(kChartWidth - place.left - labels - 2 * kLabelGap, 200.0);
  place.top = top + static_cast<double>(chart.marks.size()) * kMarkRow + 2;
  place.bottom = place.top + height;
  place.scale = linear_scale(max_of(chart), place.width < 400 ? 4 : 6);
  return place;
}

void draw_bar_axis(Markup& out, const BarChart& chart, const BarPlace& place) {
  for (double tick : place.scale.ticks) {
    const double x = place.x(tick);
    draw_line(out, tick == 0 ? "axis" : "grid", x, place.top, x, place.bottom);
    draw_text(out, "quiet small", x, place.bottom + 16, "middle", tick_text(tick, chart.quantity));
  }
  draw_text(out, "quiet small", place.left + place.width, place.bottom + 34, "end", chart.axis);
}

void draw_bar_marks(Markup& out, const BarChart& chart, const BarPlace& place) {
  double label = place.top - 6;
  for (const Mark& mark : chart.marks) {
    draw_upright_mark(out, mark.label, place.x(mark.value), label, place.bottom);
    label -= kMarkRow;
  }
}

void draw_range(Markup& out, const Bar& bar, const BarPlace& place, double middle) {
  const double low = place.x(bar.range->first), high = place.x(bar.range->second);
  draw_line(out, "range", low, middle, high, middle);
  for (double x : {low, high}) draw_line(out, "range", x, middle - 4, x, middle + 4);
}

void draw_bar(Markup& out, const Bar& bar, const BarPlace& place, double top, size_t series,
              const std::string& chart, const std::string& name) {
  const double end = place.x(bar.value), middle = top + kBar / 2;
  out.begin("rect", {{"class", fmt::format("bar l{}", series)},
                     {"data-value", all_digits(bar.value)},
                     {"x", pixels(place.left)},
                     {"y", pixels(top)},
                     {"width", pixels(end - place.left)},
                     {"height", pixels(kBar)},
                     {"fill", pattern_fill(chart, series)}});
  out.with("title", {}, fmt::format("{}: {}", name, bar.label)).end();
  double label = end;
  if (bar.range && bar.range->second > bar.range->first) {
    draw_range(out, bar, place, middle);
    label = std::max(label, place.x(bar.range->second));
  }
  draw_text(out, "ink halo", label + kLabelGap, middle + 4.5, "start", bar.label);
}

void draw_group(Markup& out, const BarChart& chart, const std::string& id, const BarPlace& place,
                const BarGroup& group, double top) {
  const double middle = top + group_height(group) / 2;
  draw_text(out, "ink", place.left - kNameGap, middle + 4.5, "end",
            text_within(group.name, kTextSize, kMaxNameWidth));
  for (size_t i = 0; i < group.bars.size(); ++i, top += kBar + kBarGap) {
    if (!group.bars[i]) {
      draw_text(out, "quiet small", place.left + kLabelGap, top + 13, "start", "not measured");
      continue;
    }
    std::string name = group.name;
    if (chart.series.size() > 1) name += ", " + chart.series[i];
    draw_bar(out, *group.bars[i], place, top, i, id, name);
  }
}

}  // namespace

Drawing draw_bars(const BarChart& bars, const std::string& chart) {
  Drawing drawing;
  std::vector<LegendKey> keys;
  for (uint32_t i = 0; bars.series.size() > 1 && i < bars.series.size(); ++i) {
    keys.push_back({bars.series[i], i, 0, true});
  }
  const double top = draw_legend(drawing.body, chart, keys, 0);
  const BarPlace place = bar_place(bars, top);
  draw_bar_axis(drawing.body, bars, place);
  draw_bar_marks(drawing.body, bars, place);
  double y = place.top + kGroupGap / 2;
  for (const BarGroup& group : bars.groups) {
    draw_group(drawing.body, bars, chart, place, group, y);
    y += group_height(group) + kGroupGap;
  }
  drawing.height = place.bottom + kAxisRow;
  return drawing;
}

}  // namespace hearth
