// ReportFile: a report of `hearth bench --json`, read back: its figures in sets, whatever was
// measured. Charts and comparisons use nothing else, so they agree with the report.
//
// Errors (kFile): a file that is no such report, or one of another version, with its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart.h"

namespace hearth {

struct Figure {
  std::string what;         // "decode 128, 4 sequences", "2 req/s"
  std::optional<double> x;  // the place on the axis, if the set has one
  double value = 0;
  std::optional<std::pair<double, double>> range = {};  // smallest and largest of the repetitions
  std::string note = {};                                // "of read, 25.6 GB/s"
};

// FigureSet: figures of one kind, which can share a chart.
struct FigureSet {
  std::string chart;    // the chart's title
  std::string name;     // the name of its figures: "share", "99 %"
  std::string caption;  // a sentence about the chart
  std::string unit;     // "tokens/s"; empty for parts and seconds
  Quantity quantity = Quantity::kNumber;
  bool more_is_better = true;
  bool is_detail = false;          // not shown where reports are compared
  std::string axis = {};           // of x: "requests a second"
  std::vector<Mark> marks = {};    // lines at values
  std::vector<Mark> x_marks = {};  // lines at places on the axis
  std::vector<Figure> figures = {};
};

// Distribution: quantiles of one quantity at even steps, from the smallest value to the largest.
struct Distribution {
  std::string chart, after;  // title; title of the chart before it
  std::string what;
  std::vector<double> quantiles;  // seconds
  std::vector<Mark> marks;
};

struct ReportFile {
  std::string name;    // its file's; empty: it is from no file
  std::string schema;  // identifies the kind of report
  std::string title;
  std::vector<std::string> facts, notes;
  std::vector<FigureSet> sets;  // none of them empty
  std::vector<Distribution> distributions;

  void add(FigureSet set) {
    if (!set.figures.empty()) sets.push_back(std::move(set));
  }
};

// Reads a report. `name`: its name in errors.
ReportFile read_report(std::string_view json, const std::string& name);

// Returns a value as text: "61.3", "12.3 ms", "45.0 %".
std::string exact_text(double value, Quantity quantity);
// Returns a value with its unit: "61.3 tokens/s"; otherwise as exact_text(), but short times in
// microseconds.
std::string value_text(const FigureSet& set, double value);

}  // namespace hearth
