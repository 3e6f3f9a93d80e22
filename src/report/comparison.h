// Compares reports: the figures that each measured of the same thing, as a table, CSV, JSON, and
// charts. A single report gives the same charts.
//
// Figures belong together if set and name are equal, so reports of different models or machines can
// be compared if they measured the same things.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/chart.h"
#include "report/report_file.h"

namespace hearth {

struct ComparedRow {
  std::string what;
  std::optional<double> x;
  std::vector<std::optional<Figure>> figures;  // by report
};

struct ComparedSet {
  FigureSet about;  // its figures are empty
  std::vector<ComparedRow> rows;
};

struct Comparison {
  std::vector<ReportFile> reports;  // with names that differ
  std::vector<ComparedSet> sets;    // in the first report's order, then the others'
};

// Compares reports. Errors (kUsage): more than kMaxSeries reports, or reports of different kinds.
Comparison compare(std::vector<ReportFile> reports);

// How a report's figure compares to the first report's.
enum class Change : uint8_t { kNone, kBetter, kWorse, kWithinSpread };
Change change_of(const FigureSet& set, const Figure& first, const Figure& figure);
const char* change_name(Change change);  // "better", "worse", "within the spread", ""

std::string markdown(const Comparison& comparison);
std::string csv(const Comparison& comparison);
std::string json(const Comparison& comparison);

ChartPage charts(const Comparison& comparison);

}  // namespace hearth
