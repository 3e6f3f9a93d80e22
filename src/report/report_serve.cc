#include <fmt/format.h>

#include <array>

#include "bench/figure_text.h"
#include "bench/serve_figures.h"
#include "report/report_fields.h"

namespace hearth {
namespace {

constexpr const char* kFirstToken = "Time to the first token";

struct Percentile {
  const char *key, *name;
  bool is_detail;
};
constexpr std::array<Percentile, 3> kPercentiles = {
    {{"p50", "50 %", false}, {"p90", "90 %", true}, {"p99", "99 %", false}}};

struct LoadPlace {
  std::string what, axis;
  double x = 0;
};

LoadPlace place_of(const ReportFields& load) {
  if (const auto rate = load.find_number("rate")) {
    return {fmt::format("{:.4g} req/s", *rate), "requests a second", *rate};
  }
  const double count = load.number("concurrency");
  return {fmt::format("{:.0f} at once", count), "requests at once", count};
}

// Adds a set with a figure for each load in which `value_of` finds one.
template <typename ValueOf>
void add_loads(const std::vector<ReportFields>& loads, FigureSet set, const ValueOf& value_of,
               ReportFile* report) {
  for (const ReportFields& load : loads) {
    const LoadPlace place = place_of(load);
    const std::optional<double> value = value_of(load);
    if (!value) continue;
    set.axis = place.axis;
    set.figures.push_back({place.what, place.x, *value});
  }
  report->add(std::move(set));
}

void add_times(const std::vector<ReportFields>& loads, const std::string& title, const char* key,
               const std::string& caption, const std::vector<Mark>& marks, ReportFile* report) {
  for (const Percentile& percentile : kPercentiles) {
    FigureSet set{.chart = title,
                  .name = percentile.name,
                  .caption = caption,
                  .unit = "",
                  .quantity = Quantity::kSeconds,
                  .more_is_better = false,
                  .is_detail = percentile.is_detail,
                  .marks = marks};
    auto time_of = [&](const ReportFields& load) -> std::optional<double> {
      if (load.number("completed") == 0) return std::nullopt;
      return load.object(key).number(percentile.key);
    };
    add_loads(loads, std::move(set), time_of, report);
  }
}

void add_rate(const std::vector<ReportFields>& loads, const std::string& title,
              const std::string& name, const char* key, const std::string& unit,
              ReportFile* report) {
  FigureSet set{
      .chart = title, .name = name, .caption = "Of requests that completed.", .unit = unit};
  add_loads(
      loads, std::move(set), [&](const ReportFields& load) { return load.find_number(key); },
      report);
}

void add_attainment(const ReportFields& fields, const std::vector<ReportFields>& loads,
                    ReportFile* report) {
  FigureSet set{.chart = "Inside the objectives",
                .name = "inside the objectives",
                .caption = "The part of all requests, failed ones too, that met every objective.",
                .unit = "",
                .quantity = Quantity::kPart,
                .marks = {{kGoodputAttainment, tick_text(kGoodputAttainment, Quantity::kPart)}}};
  if (const auto goodput = fields.find_number("goodput")) {
    set.x_marks = {{*goodput, fmt::format("goodput {:.4g} req/s", *goodput)}};
  }
  add_loads(
      loads, std::move(set),
      [](const ReportFields& load) { return load.find_number("attainment"); }, report);
}

void add_distributions(const std::vector<ReportFields>& loads, const std::vector<Mark>& marks,
                       ReportFile* report) {
  for (const ReportFields& load : loads) {
    std::vector<double> quantiles = load.find_numbers("ttft_quantiles_seconds");
    if (quantiles.size() < 2) continue;
    report->distributions.push_back({"First tokens within a time", kFirstToken, place_of(load).what,
                                     std::move(quantiles), marks});
  }
}

std::vector<Mark> objective(const ReportFields& slo, const char* key) {
  const auto seconds = slo.find_number(key);
  if (!seconds) return {};
  return {{*seconds, fmt::format("objective {}", duration_figure(*seconds))}};
}

}  // namespace

void read_serve(const ReportFields& fields, ReportFile* report) {
  const std::string model = fields.text("model");
  report->title = fmt::format("{}{}", model.empty() ? "" : model + " at ", fields.text("url"));
  report->facts.push_back(fmt::format("{}; {}", fields.text("path"), fields.text("lengths")));
  const ReportFields slo = fields.object("slo_seconds");
  const std::vector<ReportFields> loads = fields.objects("loads");
  add_attainment(fields, loads, report);
  add_times(loads, kFirstToken, "ttft_seconds",
            "From when a request was due, or started, to its first text: within that time came 50, "
            "90 and 99 % of them.",
            objective(slo, "ttft"), report);
  add_distributions(loads, objective(slo, "ttft"), report);
  add_times(loads, "Time of each further token", "tpot_seconds",
            "The mean of a request's tokens after the first.", objective(slo, "tpot"), report);
  add_times(loads, "Longest gap", "longest_gap_seconds",
            "The longest time between two pieces of text of a request.", {}, report);
  add_times(loads, "End to end", "end_to_end_seconds", "From a request's start to its end.", {},
            report);
  add_rate(loads, "Tokens a second", "written", "output_tokens_per_second", "tokens/s", report);
  add_rate(loads, "Tokens a second", "read", "prompt_tokens_per_second", "tokens/s", report);
  add_rate(loads, "Requests a second", "completed", "requests_per_second", "req/s", report);
  add_rate(loads, "Requests a second", "inside the objectives", "good_requests_per_second", "req/s",
           report);
}

}  // namespace hearth
