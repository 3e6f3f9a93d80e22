#include "report/report_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "bench/figure_text.h"
#include "report/report_fields.h"

namespace hearth {
namespace {

std::string machine_fact(const ReportFields& fields) {
  std::string fact = cpu_text(fields.text("cpu"));
  if (const auto stolen = fields.find_number("steal_share")) {
    fact += fmt::format("; CPU time stolen {}", percent_text(*stolen));
  }
  if (const auto others = fields.find_number("others_share")) {
    fact += fmt::format(", others' {}", percent_text(*others));
  }
  return fmt::format("{}; hearth {}, {}", fact, fields.text("version"), fields.text("time"));
}

}  // namespace

ReportFile read_report(std::string_view json, const std::string& name) {
  ReportFile report;
  boost::json::value value;
  try {
    value = read_json(json);
  } catch (const Error& error) {
    fail(ErrorCode::kFile, "{} is not a report of `hearth bench --json`: {}", name, error.what());
  }
  const ReportFields fields(value, name);
  report.schema = fields.text("schema");
  if (report.schema == "hearth-bench-2") {
    read_steps(fields, &report);
  } else if (report.schema == "hearth-bench-serve-1") {
    read_serve(fields, &report);
  } else if (report.schema == "hearth-bench-embed-1") {
    read_embed(fields, &report);
  } else {
    fail(ErrorCode::kFile,
         "{} has the schema '{}', which this version does not know: measure again", name,
         report.schema);
  }
  report.facts.push_back(machine_fact(fields));
  report.notes = fields.texts("notes");
  if (fields.boolean("interrupted")) {
    report.notes.emplace_back("interrupted; the remaining measurements are missing");
  }
  return report;
}

std::string exact_text(double value, Quantity quantity) {
  switch (quantity) {
    case Quantity::kPart:
      return percent_text(value);
    case Quantity::kSeconds:
      return duration_figure(value);
    case Quantity::kNumber:
      break;
  }
  return rate_text(value);
}

std::string value_text(const FigureSet& set, double value) {
  if (set.quantity == Quantity::kSeconds && value < 1e-3) {
    return fmt::format("{:.1f} us", 1e6 * value);
  }
  const std::string text = exact_text(value, set.quantity);
  return set.quantity == Quantity::kNumber ? text + " " + set.unit : text;
}

}  // namespace hearth
