// Reports beside one another: what each measured of the same, as a table for people, CSV, JSON, and
// as charts. One report alone is drawn as the same charts.
//
// Figures are of the same where set and name are equal, so reports of different models or machines
// compare as long as they measured alike.
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
  std::vector<std::optional<Figure>> figures;  // one for each report
};

struct ComparedSet {
  FigureSet about;  // without figures
  std::vector<ComparedRow> rows;
};

struct Comparison {
  std::vector<ReportFile> reports;  // with names that tell them apart
  std::vector<ComparedSet> sets;    // in the first report's order, then what only others have
};

// Errors (kUsage): more than kMostSeries reports, or of several kinds.
Comparison compare(std::vector<ReportFile> reports);

// How a figure stands to that of the first report.
enum class Change : uint8_t { kNone, kBetter, kWorse, kWithinSpread };
Change change_of(const FigureSet& set, const Figure& first, const Figure& figure);
const char* change_name(Change change);  // "better", "worse", "within the spread", ""

std::string markdown(const Comparison& comparison);
std::string csv(const Comparison& comparison);
std::string json(const Comparison& comparison);

ChartPage charts(const Comparison& comparison);

}  // namespace hearth
