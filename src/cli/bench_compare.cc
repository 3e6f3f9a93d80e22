#include "cli/bench_compare.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "base/printable.h"
#include "cli/text_io.h"
#include "report/comparison.h"

namespace hearth {
namespace {

// Returns names for the reports: their files' names if all of these differ, else the files' paths.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(printable(std::filesystem::path(path).filename().string()));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) == sorted.end()) return names;
  names.clear();
  for (const std::string& path : paths) names.push_back(printable(path));
  return names;
}

}  // namespace

void add_compare_option(CLI::App& verb, BenchArgs* args) {
  const std::vector<CLI::Option*> others = verb.get_options();
  CLI::Option* compare = verb.add_option("--compare", args->compared,
                                         "Measure nothing: compare two or more reports of --json")
                             ->expected(2, kMaxSeries)
                             ->type_name("FILE FILE...");
  for (CLI::Option* other : others) {
    // An option that needs another one is skipped: excluding the needed option is enough.
    if (!other->get_needs().empty()) continue;
    if (other != verb.get_help_ptr() && other != verb.get_help_all_ptr()) compare->excludes(other);
  }
}

int compare_reports(const BenchArgs& args) {
  const std::vector<std::string> names = names_of(args.compared);
  std::vector<ReportFile> reports;
  for (size_t i = 0; i < names.size(); ++i) {
    reports.push_back(read_report(read_text(args.compared[i]), names[i]));
    reports.back().name = names[i];
  }
  const Comparison comparison = compare(std::move(reports));
  if (draws_charts(args)) {
    write_charts(args, comparison);
  } else if (args.json || args.form == "json") {
    write_stdout(json(comparison));
  } else {
    write_stdout(args.form == "csv" ? csv(comparison) : markdown(comparison));
  }
  return 0;
}

}  // namespace hearth
