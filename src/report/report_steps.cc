#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "bench/figure_text.h"
#include "report/report_fields.h"

namespace hearth {
namespace {

constexpr double kGiga = 1e9;

// The fields of arithmetic limits, and the names of their operations.
constexpr std::array<std::pair<const char*, const char*>, 4> kArithmetic = {
    {{"f32_fma_gops", "f32 fma"},
     {"bf16_dot_gops", "bf16 dot"},
     {"int8_dot_gops", "int8 dot"},
     {"int16_dot_gops", "int16 dot"}}};

// The sets to which every run in a report adds figures.
struct StepSets {
  FigureSet share{.chart = "Share of the limit",
                  .name = "share of the limit",
                  .caption =
                      "What was reached of what this machine can do at best, measured in the "
                      "same minutes: reading weights, or arithmetic.",
                  .unit = "",
                  .quantity = Quantity::kPart,
                  .marks = {{1, "limit"}}};
  FigureSet prefill{
      .chart = "Reading prompts",
      .name = "prefill",
      .caption = "Tokens of a prompt a second, median; the line spans all repetitions.",
      .unit = "tokens/s"};
  FigureSet decode{.chart = "Writing answers",
                   .name = "decode",
                   .caption =
                       "Tokens a second of all sequences together, median; the line spans all "
                       "repetitions.",
                   .unit = "tokens/s"};
  FigureSet gap{.chart = "Longest wait while a prompt arrives",
                .name = "longest gap",
                .caption = "The longest time between two tokens of a sequence that decodes.",
                .unit = "",
                .quantity = Quantity::kSeconds,
                .more_is_better = false};
  FigureSet arriving{.chart = "First token of a prompt that arrives",
                     .name = "first token",
                     .caption = "How long the prompt that arrives takes.",
                     .unit = "",
                     .quantity = Quantity::kSeconds,
                     .more_is_better = false};
  FigureSet product{.chart = "Time of a product",
                    .name = "time",
                    .caption = "Of one matrix product, median.",
                    .unit = "",
                    .quantity = Quantity::kSeconds,
                    .more_is_better = false};
  FigureSet load{.chart = "Loading",
                 .name = "load",
                 .caption = "Time of making the engine, median; the line spans all repetitions.",
                 .unit = "",
                 .quantity = Quantity::kSeconds,
                 .more_is_better = false};
  FigureSet packing{.chart = "Packing beside copying",
                    .name = "share of copying",
                    .caption =
                        "How fast weights are packed, as a part of how fast the same threads "
                        "copy the same bytes.",
                    .unit = "",
                    .quantity = Quantity::kPart,
                    .marks = {{1, "copying"}}};
  FigureSet read{.chart = "Reading memory at best",
                 .name = "read limit",
                 .caption = "The limit of reading that was measured.",
                 .unit = "GB/s"};
  FigureSet arithmetic{.chart = "Arithmetic at best",
                       .name = "arithmetic limit",
                       .caption = "The limits of arithmetic that were measured.",
                       .unit = "GOPS"};
};

std::string case_name(const ReportFields& test, const std::string& threads) {
  std::string name = fmt::format("{} {:.0f}", test.text("phase"), test.number("tokens"));
  const double depth = test.number("depth"), sequences = test.number("sequences");
  if (depth > 0) name += fmt::format(" at depth {:.0f}", depth);
  if (sequences > 1) name += fmt::format(", {:.0f} sequences", sequences);
  return name + threads;
}

// Returns the share of the nearer limit: that of reading memory or that of arithmetic.
Figure share_figure(const ReportFields& test, const std::string& what) {
  const ReportFields computing = test.object("computing");
  Figure figure{what, {}, computing.number("share")};
  figure.note = fmt::format("of {}, {} GOPS", computing.text("unit"),
                            giga_text(computing.number("gops") * kGiga));
  const auto reading = test.find_object("reading");
  if (reading && reading->number("share") >= figure.value) {
    figure.value = reading->number("share");
    figure.note =
        fmt::format("of read, {} GB/s", giga_text(reading->number("gb_per_second") * kGiga));
  }
  return figure;
}

void read_tests(const ReportFields& run, const std::string& threads, StepSets* sets) {
  for (const ReportFields& test : run.objects("tests")) {
    const std::string what = case_name(test, threads);
    const auto first = test.find_number("first_token_seconds");
    sets->share.figures.push_back(share_figure(test, what));
    FigureSet& rates = test.text("phase") == "prefill" ? sets->prefill : sets->decode;
    rates.figures.push_back(test.spread(
        what, "tokens_per_second",
        first ? fmt::format("first token after {}", duration_figure(*first)) : std::string()));
  }
  for (const ReportFields& arrival : run.objects("arrivals")) {
    const double limit = arrival.number("step_seconds");
    const std::string what = fmt::format(
        "{:.0f} tokens, {}{}", arrival.number("prompt_tokens"),
        limit > 0 ? fmt::format("steps of {}", duration_figure(limit)) : "no limit", threads);
    sets->gap.figures.push_back(arrival.spread(what, "longest_gap_seconds"));
    sets->arriving.figures.push_back(arrival.spread(what, "first_token_seconds"));
  }
}

void read_kernels(const ReportFields& run, const std::string& threads, StepSets* sets) {
  for (const ReportFields& kernel : run.objects("kernels")) {
    const bool reads = kernel.text("bound") == "reading";
    const std::string what = fmt::format("{} {:.0f} x {:.0f} {}, m {:.0f}{}", kernel.text("roles"),
                                         kernel.number("rows"), kernel.number("k"),
                                         kernel.text("type"), kernel.number("m"), threads);
    Figure share{what, {}, kernel.number(reads ? "read_share" : "peak_share")};
    share.note =
        reads ? fmt::format("of read, {} GB/s", giga_text(kernel.number("gb_per_second") * kGiga))
              : fmt::format("of {}, {} GOPS", kernel.text("unit"),
                            giga_text(kernel.number("gops") * kGiga));
    sets->share.figures.push_back(std::move(share));
    sets->product.figures.push_back({what, {}, kernel.number("median_seconds")});
  }
}

void read_loads(const ReportFields& loads, const std::string& threads, StepSets* sets) {
  const std::string what = "load" + threads;
  sets->load.figures.push_back(loads.spread(what, "seconds"));
  const double rate = loads.number("packed_gb_per_second") * kGiga;
  sets->packing.figures.push_back(
      loads.spread(what, "share_of_copy", fmt::format("{} GB/s", giga_text(rate))));
}

void read_limits(const ReportFields& run, const std::string& threads, StepSets* sets) {
  for (const ReportFields& level : run.objects("limits")) {
    const std::string isa = level.text("isa");
    sets->read.figures.push_back({isa + threads, {}, level.number("read_gb_per_second")});
    for (const auto& [key, unit] : kArithmetic) {
      if (const auto gops = level.find_number(key)) {
        sets->arithmetic.figures.push_back(
            {fmt::format("{}, {}{}", isa, unit, threads), {}, *gops});
      }
    }
  }
}

std::string model_fact(const ReportFields& fields, const ReportFields& model) {
  return fmt::format("{}, {}, {} parameters, {}; {} kernels", model.text("architecture"),
                     model.text("type"), count_text(model.count("parameters")),
                     bytes_text(model.count("file_bytes")), fields.text("isa"));
}

}  // namespace

void read_steps(const ReportFields& fields, ReportFile* report) {
  report->title = "What this machine can do";
  if (const auto model = fields.find_object("model")) {
    report->title = model->text("file");
    report->facts.push_back(model_fact(fields, *model));
  }
  StepSets sets;
  const std::vector<ReportFields> runs = fields.objects("runs");
  if (runs.size() == 1) {
    std::string fact = count_text(runs[0].count("threads"), "thread");
    if (!report->facts.empty()) fact = report->facts.back() + "; " + fact;
    report->facts = {std::move(fact)};
  }
  for (const ReportFields& run : runs) {
    const uint64_t count = run.count("threads");
    const std::string threads = runs.size() > 1 ? ", " + count_text(count, "thread") : "";
    if (run.has("loads")) {
      read_loads(run.object("loads"), threads, &sets);
      continue;
    }
    read_limits(run, threads, &sets);
    if (run.has("kernels")) read_kernels(run, threads, &sets);
    if (run.has("tests")) read_tests(run, threads, &sets);
  }
  for (FigureSet* set : {&sets.share, &sets.prefill, &sets.decode, &sets.gap, &sets.arriving,
                         &sets.product, &sets.load, &sets.packing, &sets.read, &sets.arithmetic}) {
    report->add(std::move(*set));
  }
}

}  // namespace hearth
