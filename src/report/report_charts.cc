#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/comparison.h"

namespace hearth {
namespace {

using Sets = std::vector<const ComparedSet*>;

std::vector<std::string> names_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ReportFile& report : comparison.reports) names.push_back(report.name);
  return names;
}

std::optional<Bar> bar_of(const FigureSet& set, const std::optional<Figure>& figure) {
  if (!figure) return std::nullopt;
  Bar bar{figure->value, figure->range, value_text(set, figure->value)};
  if (!figure->note.empty()) {
    const bool goes_on = figure->note.starts_with("of ");
    bar.label += (goes_on ? " " : "; ") + figure->note;
  }
  return bar;
}

std::string bar_axis(const FigureSet& set) {
  if (set.quantity == Quantity::kPart) return set.name;
  if (set.quantity == Quantity::kSeconds) return set.more_is_better ? "" : "less is better";
  return set.unit;
}

BarChart bars_of(const Comparison& comparison, const Sets& sets) {
  const FigureSet& about = sets[0]->about;
  BarChart chart{.title = about.chart,
                 .caption = about.caption,
                 .quantity = about.quantity,
                 .axis = bar_axis(about),
                 .series = names_of(comparison),
                 .groups = {},
                 .marks = about.marks};
  for (const ComparedSet* set : sets) {
    for (const ComparedRow& row : set->rows) {
      // Groups of a chart with several figures have the figure's name.
      BarGroup group{sets.size() > 1 ? fmt::format("{}, {}", set->about.name, row.what) : row.what,
                     {}};
      for (const auto& figure : row.figures) group.bars.push_back(bar_of(set->about, figure));
      chart.groups.push_back(std::move(group));
    }
  }
  return chart;
}

Line line_of(const ComparedSet& set, size_t report) {
  Line line;
  for (const ComparedRow& row : set.rows) {
    const auto& figure = row.figures[report];
    if (figure && row.x) line.points.emplace_back(*row.x, figure->value);
  }
  return line;
}

LineChart lines_of(const Comparison& comparison, const Sets& sets) {
  const FigureSet& about = sets[0]->about;
  LineChart chart{.title = about.chart,
                  .caption = about.caption,
                  .x_axis = about.axis,
                  .y_axis = about.unit,
                  .y_quantity = about.quantity,
                  .lines = {},
                  .x_marks = about.x_marks,
                  .y_marks = about.marks};
  const bool several = comparison.reports.size() > 1;
  for (uint32_t report = 0; report < comparison.reports.size(); ++report) {
    uint32_t dash = 0;
    for (const ComparedSet* set : sets) {
      Line line = line_of(*set, report);
      if (line.points.empty()) continue;
      line.dash = dash++;
      line.colour = several ? report : line.dash;
      line.name = set->about.name;
      if (several) line.name = fmt::format("{}, {}", comparison.reports[report].name, line.name);
      chart.lines.push_back(std::move(line));
    }
  }
  return chart;
}

bool has_several_places(const Sets& sets) {
  std::set<double> places;
  for (const ComparedSet* set : sets) {
    for (const ComparedRow& row : set->rows) {
      if (row.x) places.insert(*row.x);
    }
  }
  return places.size() > 1;
}

Line distribution_line(const Distribution& one, const std::string& name, uint32_t style) {
  Line line{.name = name, .colour = style, .dash = style, .points = {}, .has_markers = false};
  const auto last = static_cast<double>(one.quantiles.size() - 1);
  for (size_t i = 0; i < one.quantiles.size(); ++i) {
    line.points.emplace_back(one.quantiles[i], static_cast<double>(i) / last);
  }
  return line;
}

LineChart distribution_chart(const Distribution& one, const std::string& of) {
  return {.title = of.empty() ? one.chart : fmt::format("{}: {}", one.chart, of),
          .caption = "How many requests of all that completed had their first text within a time.",
          .x_axis = "time to the first token",
          .y_axis = "requests",
          .x_quantity = Quantity::kSeconds,
          .y_quantity = Quantity::kPart,
          .lines = {},
          .x_marks = one.marks,
          .y_marks = {}};
}

// Returns, for a single report, a chart with all its loads. For several reports returns a chart for
// each load that at least two of them have.
std::vector<Chart> distribution_charts(const Comparison& comparison, const std::string& after) {
  std::vector<LineChart> made;
  const bool several = comparison.reports.size() > 1;
  for (uint32_t report = 0; report < comparison.reports.size(); ++report) {
    for (const Distribution& one : comparison.reports[report].distributions) {
      if (one.after != after) continue;
      const LineChart empty = distribution_chart(one, several ? one.what : "");
      auto chart = std::ranges::find(made, empty.title, &LineChart::title);
      if (chart == made.end()) chart = made.insert(made.end(), empty);
      if (chart->lines.size() == kMaxSeries) continue;
      const auto count = static_cast<uint32_t>(chart->lines.size());
      chart->lines.push_back(several
                                 ? distribution_line(one, comparison.reports[report].name, report)
                                 : distribution_line(one, one.what, count));
    }
  }
  std::vector<Chart> charts;
  for (LineChart& chart : made) {
    if (!several || chart.lines.size() > 1) charts.emplace_back(std::move(chart));
  }
  return charts;
}

void describe_reports(const Comparison& comparison, ChartPage* page) {
  const auto& reports = comparison.reports;
  if (reports.size() == 1) {
    page->title = reports[0].title;
    page->facts = reports[0].facts;
    page->notes = reports[0].notes;
    return;
  }
  page->title = fmt::format("{}", fmt::join(names_of(comparison), ", "));
  for (const ReportFile& report : reports) {
    page->facts.push_back(
        fmt::format("{}: {}; {}", report.name, report.title, fmt::join(report.facts, "; ")));
    for (const std::string& note : report.notes) {
      page->notes.push_back(fmt::format("{}: {}", report.name, note));
    }
  }
}

}  // namespace

ChartPage charts(const Comparison& comparison) {
  ChartPage page;
  describe_reports(comparison, &page);
  std::vector<Sets> groups;
  for (const ComparedSet& set : comparison.sets) {
    if (set.about.is_detail && comparison.reports.size() > 1) continue;
    auto group = std::ranges::find_if(groups, [&](const Sets& sets) {
      return sets[0]->about.chart == set.about.chart && sets[0]->about.axis == set.about.axis;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), Sets{});
    group->push_back(&set);
  }
  for (const Sets& sets : groups) {
    if (has_several_places(sets)) {
      page.charts.emplace_back(lines_of(comparison, sets));
    } else {
      page.charts.emplace_back(bars_of(comparison, sets));
    }
    for (Chart& chart : distribution_charts(comparison, sets[0]->about.chart)) {
      page.charts.push_back(std::move(chart));
    }
  }
  if (page.charts.empty()) page.notes.emplace_back("nothing was measured");
  return page;
}

}  // namespace hearth
