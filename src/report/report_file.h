// A report of `hearth bench` as --json writes it, read back: its figures in sets, whatever was
// measured. Charts and comparisons are made of these alone, so they say what the report says.
//
// Errors (kFile): what is no such report, or one of another version; the sentence names it.
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
  std::optional<double> x;  // where the set has an axis: its place there
  double value = 0;
  std::optional<std::pair<double, double>> range = {};  // least and most of the repetitions
  std::string note = {};                                // "of read, 25.6 GB/s"
};

// Figures of one kind, which can stand in one chart.
struct FigureSet {
  std::string chart;  // the chart's title
  std::string name;   // what is told of everything: "share", "99 %"
  std::string told;   // a sentence about the chart
  std::string unit;   // "tokens/s"; empty for parts and seconds
  Quantity quantity = Quantity::kNumber;
  bool more_is_better = true;
  bool is_detail = false;          // left out where reports are drawn beside one another
  std::string axis = {};           // of x: "requests a second"
  std::vector<Mark> marks = {};    // of values
  std::vector<Mark> x_marks = {};  // of the axis
  std::vector<Figure> figures = {};
};

// Values of one thing from the least to the most, evenly: the first is the least, the last the
// most.
struct Distribution {
  std::string chart, after;  // title; of the chart that it stands behind
  std::string what;
  std::vector<double> quantiles;  // seconds
  std::vector<Mark> marks;
};

struct ReportFile {
  std::string name;    // of its file; empty: it is not from one
  std::string schema;  // says what kind it is
  std::string title;
  std::vector<std::string> facts, notes;
  std::vector<FigureSet> sets;  // none is empty
  std::vector<Distribution> distributions;

  void add(FigureSet set) {
    if (!set.figures.empty()) sets.push_back(std::move(set));
  }
};

// `name` stands in errors.
ReportFile read_report(std::string_view json, const std::string& name);

// "61.3", "12.3 ms", "45.0 %".
std::string exact_text(double value, Quantity quantity);
// "61.3 tokens/s"; else the same, but short times in microseconds.
std::string value_text(const FigureSet& set, double value);

}  // namespace hearth
