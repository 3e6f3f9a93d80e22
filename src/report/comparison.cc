#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "bench/table.h"

namespace hearth {
namespace {

bool is_of_same(const FigureSet& a, const FigureSet& b) {
  return a.chart == b.chart && a.name == b.name && a.axis == b.axis;
}

ComparedSet& set_for(const FigureSet& set, std::vector<ComparedSet>* sets) {
  auto found = std::ranges::find_if(
      *sets, [&](const ComparedSet& other) { return is_of_same(other.about, set); });
  if (found != sets->end()) return *found;
  ComparedSet made{set, {}};
  made.about.figures.clear();
  made.about.marks.clear();
  made.about.x_marks.clear();
  return sets->emplace_back(std::move(made));
}

ComparedRow& row_for(const Figure& figure, size_t reports, std::vector<ComparedRow>* rows) {
  auto found = std::ranges::find(*rows, figure.what, &ComparedRow::what);
  if (found != rows->end()) return *found;
  return rows->emplace_back(
      ComparedRow{figure.what, figure.x, std::vector<std::optional<Figure>>(reports)});
}

// Adds a report's marks, except those that are there already. A mark that the first report does not
// have gets the name of its report.
void add_marks(const std::vector<Mark>& marks, const std::string& report, bool first,
               std::vector<Mark>* all) {
  for (Mark mark : marks) {
    if (std::ranges::find(*all, mark) != all->end()) continue;
    if (!first) mark.label += fmt::format(" ({})", report);
    if (std::ranges::find(*all, mark) == all->end()) all->push_back(std::move(mark));
  }
}

std::string change_text(const ComparedSet& set, const ComparedRow& row, size_t i) {
  const auto &first = row.figures[0], &figure = row.figures[i];
  if (!first || !figure || first->value == 0) return "-";
  const Change change = change_of(set.about, *first, *figure);
  std::string text = fmt::format("{:+.1f} %", 100 * (figure->value / first->value - 1));
  if (change != Change::kNone) text += fmt::format(" ({})", change_name(change));
  return text;
}

void figure_json(Json& json, const std::optional<Figure>& figure) {
  if (!figure) {
    json.null();
    return;
  }
  json.object().key("value").real(figure->value).key("min");
  json.real(figure->range ? std::optional(figure->range->first) : std::nullopt).key("max");
  json.real(figure->range ? std::optional(figure->range->second) : std::nullopt).end_object();
}

std::string unit_of(const FigureSet& set) {
  if (set.quantity == Quantity::kPart) return "part";
  return set.quantity == Quantity::kSeconds ? "seconds" : set.unit;
}

// Returns a figure's name: "Writing answers", or where the chart has several figures "Longest gap,
// 99 %".
std::string figure_name(const Comparison& comparison, const FigureSet& set) {
  const auto in_chart = std::ranges::count_if(
      comparison.sets, [&](const ComparedSet& other) { return other.about.chart == set.chart; });
  return in_chart > 1 ? fmt::format("{}, {}", set.chart, set.name) : set.chart;
}

}  // namespace

Comparison compare(std::vector<ReportFile> reports) {
  if (reports.size() > kMaxSeries) {
    fail(ErrorCode::kUsage, "{} reports are too many to compare: give at most {}", reports.size(),
         kMaxSeries);
  }
  Comparison comparison;
  for (size_t i = 0; i < reports.size(); ++i) {
    const ReportFile& report = reports[i];
    if (report.schema != reports[0].schema) {
      fail(ErrorCode::kUsage,
           "{} has the schema {}, and {} the schema {}: compare reports of the same kind",
           reports[0].name, reports[0].schema, report.name, report.schema);
    }
    for (const FigureSet& set : report.sets) {
      ComparedSet& compared = set_for(set, &comparison.sets);
      add_marks(set.marks, report.name, i == 0, &compared.about.marks);
      add_marks(set.x_marks, report.name, i == 0, &compared.about.x_marks);
      for (const Figure& figure : set.figures) {
        auto& place = row_for(figure, reports.size(), &compared.rows).figures[i];
        if (!place) place = figure;
      }
    }
  }
  for (ComparedSet& set : comparison.sets) {
    if (!set.about.axis.empty()) std::ranges::stable_sort(set.rows, {}, &ComparedRow::x);
  }
  comparison.reports = std::move(reports);
  return comparison;
}

Change change_of(const FigureSet& set, const Figure& first, const Figure& figure) {
  if (figure.value == first.value) return Change::kNone;
  if (first.range && figure.range && figure.range->first <= first.range->second &&
      first.range->first <= figure.range->second) {
    return Change::kWithinSpread;
  }
  return (figure.value > first.value) == set.more_is_better ? Change::kBetter : Change::kWorse;
}

const char* change_name(Change change) {
  switch (change) {
    case Change::kBetter:
      return "better";
    case Change::kWorse:
      return "worse";
    case Change::kWithinSpread:
      return "within the spread";
    case Change::kNone:
      break;
  }
  return "";
}

std::string markdown(const Comparison& comparison) {
  std::string out;
  for (const ReportFile& report : comparison.reports) {
    out += fmt::format("{}: {}; {}\n", report.name, report.title, fmt::join(report.facts, "; "));
  }
  Table table;
  for (const ComparedSet& set : comparison.sets) {
    for (const ComparedRow& row : set.rows) {
      Cells cells = {{"figure", figure_name(comparison, set.about)}, {"of", row.what}};
      for (size_t i = 0; i < row.figures.size(); ++i) {
        const auto& figure = row.figures[i];
        cells.emplace_back(comparison.reports[i].name,
                           figure ? value_text(set.about, figure->value) : "-");
        if (i > 0) cells.emplace_back("to the first", change_text(set, row, i));
      }
      table.add(cells);
    }
  }
  out += "\n" + table.markdown();
  for (const ReportFile& report : comparison.reports) {
    for (const std::string& note : report.notes) {
      out += fmt::format("note on {}: {}\n", report.name, note);
    }
  }
  return out;
}

std::string csv(const Comparison& comparison) {
  Table table;
  for (const ComparedSet& set : comparison.sets) {
    for (const ComparedRow& row : set.rows) {
      Cells cells = {{"figure", figure_name(comparison, set.about)},
                     {"of", row.what},
                     {"unit", unit_of(set.about)}};
      for (size_t i = 0; i < row.figures.size(); ++i) {
        const auto& figure = row.figures[i];
        cells.emplace_back(comparison.reports[i].name, figure ? csv_number(figure->value) : "");
      }
      table.add(cells);
    }
  }
  return table.csv();
}

std::string json(const Comparison& comparison) {
  Json json;
  json.object().key("schema").text("hearth-bench-compare-1").key("reports").array();
  for (const ReportFile& report : comparison.reports) {
    json.object().key("name").text(report.name).key("schema").text(report.schema);
    json.key("title").text(report.title).key("facts").array();
    for (const std::string& fact : report.facts) json.text(fact);
    json.end_array().key("notes").array();
    for (const std::string& note : report.notes) json.text(note);
    json.end_array().end_object();
  }
  json.end_array().key("figures").array();
  for (const ComparedSet& set : comparison.sets) {
    for (const ComparedRow& row : set.rows) {
      json.object().key("figure").text(figure_name(comparison, set.about)).key("of").text(row.what);
      json.key("unit").text(unit_of(set.about)).key("more_is_better");
      json.boolean(set.about.more_is_better).key("values").array();
      for (const auto& figure : row.figures) figure_json(json, figure);
      json.end_array().key("changes").array();
      for (size_t i = 1; i < row.figures.size(); ++i) {
        const auto &first = row.figures[0], &figure = row.figures[i];
        const bool both = first && figure;
        json.text(both ? change_name(change_of(set.about, *first, *figure)) : "");
      }
      json.end_array().end_object();
    }
  }
  return json.end_array().end_object().line();
}

}  // namespace hearth
