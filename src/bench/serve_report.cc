#include "bench/serve_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "bench/figure_text.h"
#include "bench/table.h"

namespace hearth {
namespace {

std::string load_text(const ServedLoad& load) {
  return load.rate ? fmt::format("{:.4g} req/s", *load.rate)
                   : fmt::format("{} at once", load.concurrency);
}

Cells count_cells(const ServedLoad& load, const ServeFigures& f) {
  return {{"load", load_text(load)},
          {"requests", fmt::format("{}", f.requests)},
          {"failed", fmt::format("{}", f.requests - f.completed)},
          {"duration", duration_figure(f.seconds)},
          {"req/s", rate_text(f.request_rate)},
          {"prompt tokens/s", rate_text(f.prompt_rate)},
          {"tokens/s", rate_text(f.output_rate)},
          {"inside SLO", f.attainment ? percent_text(*f.attainment) : "-"},
          {"good req/s", f.attainment ? rate_text(f.good_rate) : "-"}};
}

void add_percentiles(const std::string& name, const Percentiles& p, Cells* cells) {
  cells->emplace_back(name + " 50 %", duration_figure(p.p50));
  cells->emplace_back("90 %", duration_figure(p.p90));
  cells->emplace_back("99 %", duration_figure(p.p99));
}

Cells time_cells(const ServedLoad& load, const ServeFigures& f) {
  Cells cells = {{"load", load_text(load)}};
  add_percentiles("TTFT", f.ttft, &cells);
  add_percentiles("TPOT", f.tpot, &cells);
  add_percentiles("longest gap", f.gap, &cells);
  add_percentiles("end to end", f.whole, &cells);
  return cells;
}

std::string slo_text(const ServeSlo& slo) {
  std::string out;
  if (slo.ttft) out += fmt::format("TTFT {}", duration_figure(*slo.ttft));
  if (slo.tpot) {
    out += fmt::format("{}TPOT {}", out.empty() ? "" : ", ", duration_figure(*slo.tpot));
  }
  return out;
}

std::string head(const ServeReport& report) {
  std::string out = fmt::format("{}{}: {}; {}; seed {}\n", report.url, report.call.path(),
                                report.call.model.empty() ? "no model named" : report.call.model,
                                report.lengths, report.seed);
  std::string stolen = report.shares
                           ? fmt::format("CPU time stolen {}", percent_text(report.shares->stolen))
                           : "CPU time stolen: unknown";
  out += fmt::format("{}; {}\n", cpu_text(report.cpu), stolen);
  if (report.slo.given()) out += fmt::format("objectives: {}\n", slo_text(report.slo));
  return out;
}

std::string goodput_line(const ServeReport& report) {
  bool open = false;
  for (const ServedLoad& load : report.loads) open = open || load.rate;
  if (!report.slo.given() || !open) return "";
  std::optional<double> best = goodput(report.loads, report.slo);
  if (!best) return "\ngoodput: at no rate measured did 90 % of the requests meet the objectives\n";
  return fmt::format(
      "\ngoodput: {:.4g} requests/s, the highest rate measured at which 90 % of the requests met "
      "the objectives\n",
      *best);
}

void csv_percentiles(const std::string& name, const Percentiles& p, Cells* cells) {
  cells->emplace_back(name + "_p50", csv_number(p.p50));
  cells->emplace_back(name + "_p90", csv_number(p.p90));
  cells->emplace_back(name + "_p99", csv_number(p.p99));
  cells->emplace_back(name + "_mean", csv_number(p.mean));
}

Cells csv_cells(const ServeReport& report, const ServedLoad& load) {
  ServeFigures f = serve_figures(load, report.slo);
  Cells cells = {{"version", report.version},
                 {"time", report.time},
                 {"url", report.url},
                 {"path", std::string(report.call.path())},
                 {"model", report.call.model},
                 {"lengths", report.lengths},
                 {"seed", csv_number(report.seed)},
                 {"interrupted", report.interrupted ? "true" : "false"},
                 {"rate", load.rate ? csv_number(*load.rate) : ""},
                 {"concurrency", load.rate ? "" : csv_number(uint64_t{load.concurrency})},
                 {"requests", csv_number(f.requests)},
                 {"completed", csv_number(f.completed)},
                 {"seconds", csv_number(f.seconds)},
                 {"requests_per_second", csv_number(f.request_rate)},
                 {"prompt_tokens", csv_number(f.prompt_tokens)},
                 {"output_tokens", csv_number(f.output_tokens)},
                 {"prompt_tokens_per_second", csv_number(f.prompt_rate)},
                 {"output_tokens_per_second", csv_number(f.output_rate)}};
  csv_percentiles("ttft_seconds", f.ttft, &cells);
  csv_percentiles("tpot_seconds", f.tpot, &cells);
  csv_percentiles("longest_gap_seconds", f.gap, &cells);
  csv_percentiles("end_to_end_seconds", f.whole, &cells);
  const ServeSlo& slo = report.slo;
  append(&cells, {{"slo_ttft_seconds", slo.ttft ? csv_number(*slo.ttft) : ""},
                  {"slo_tpot_seconds", slo.tpot ? csv_number(*slo.tpot) : ""},
                  {"attainment", f.attainment ? csv_number(*f.attainment) : ""},
                  {"good_requests_per_second", f.attainment ? csv_number(f.good_rate) : ""}});
  return cells;
}

void json_load(Json& json, const ServeReport& report, const ServedLoad& load) {
  ServeFigures f = serve_figures(load, report.slo);
  json.object().key("rate").real(load.rate).key("concurrency");
  json.number(load.rate ? std::nullopt : std::optional(uint64_t{load.concurrency}));
  json.key("requests").number(f.requests).key("completed").number(f.completed);
  json.key("failures").array();
  for (const auto& [kind, failures] : f.failures) {
    json.object().key("kind").text(kind).key("count").number(failures.count);
    json.key("said").text(failures.said).end_object();
  }
  json.end_array().key("seconds").real(f.seconds);
  json.key("requests_per_second").real(f.request_rate);
  json.key("prompt_tokens").number(f.prompt_tokens);
  json.key("output_tokens").number(f.output_tokens);
  json.key("prompt_tokens_per_second").real(f.prompt_rate);
  json.key("output_tokens_per_second").real(f.output_rate);
  add_percentiles(json, "ttft_seconds", f.ttft);
  add_percentiles(json, "tpot_seconds", f.tpot);
  add_percentiles(json, "longest_gap_seconds", f.gap);
  add_percentiles(json, "end_to_end_seconds", f.whole);
  json.key("ttft_quantiles_seconds").array();
  for (double seconds : f.ttft_quantiles) json.real(seconds);
  json.end_array();
  json.key("attainment").real(f.attainment).key("good_requests_per_second");
  json.real(f.attainment ? std::optional(f.good_rate) : std::nullopt);
  json.key("shorter").number(f.shorter).key("uncounted").number(f.uncounted).end_object();
}

}  // namespace

void note_doubts(ServeReport* report) {
  uint64_t shorter = 0, uncounted = 0;
  for (const ServedLoad& load : report->loads) {
    ServeFigures f = serve_figures(load, report->slo);
    shorter += f.shorter;
    uncounted += f.uncounted;
  }
  if (shorter > 0) {
    report->notes.push_back(fmt::format(
        "{} answers had fewer tokens than asked for: the server may not know ignore_eos", shorter));
  }
  if (uncounted > 0) {
    report->notes.push_back(
        fmt::format("{} answers came without a count of tokens (stream_options.include_usage): "
                    "every event with text counts as one, prompts as asked for",
                    uncounted));
  }
}

std::string markdown(const ServeReport& report) {
  Table counts, times, failed;
  for (const ServedLoad& load : report.loads) {
    ServeFigures f = serve_figures(load, report.slo);
    counts.add(count_cells(load, f));
    if (f.completed > 0) times.add(time_cells(load, f));
    for (const auto& [kind, failures] : f.failures) {
      failed.add({{"load", load_text(load)},
                  {"failure", kind},
                  {"requests", fmt::format("{}", failures.count)},
                  {"the first said", failures.said}});
    }
  }
  std::string out = head(report);
  for (const Table* table : {&counts, &times, &failed}) {
    std::string text = table->markdown();
    if (!text.empty()) out += "\n" + text;
  }
  out += goodput_line(report);
  if (!report.notes.empty() || report.interrupted) out += "\n";
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  if (report.interrupted) out += "note: interrupted; unfinished requests are left out\n";
  return out;
}

std::string csv(const ServeReport& report) {
  Table table;
  for (const ServedLoad& load : report.loads) table.add(csv_cells(report, load));
  return table.csv();
}

std::string json(const ServeReport& report) {
  Json json;
  json.object().key("schema").text("hearth-bench-serve-1").key("version").text(report.version);
  json.key("time").text(report.time).key("cpu").text(report.cpu);
  json.key("url").text(report.url).key("path").text(report.call.path());
  json.key("model").text(report.call.model).key("lengths").text(report.lengths);
  json.key("shared_prefix").number(uint64_t{report.call.shared_prefix});
  json.key("seed").number(report.seed).key("slo_seconds").object();
  json.key("ttft").real(report.slo.ttft).key("tpot").real(report.slo.tpot).end_object();
  auto stolen = report.shares ? std::optional(report.shares->stolen) : std::nullopt;
  json.key("steal_share").real(stolen).key("interrupted").boolean(report.interrupted);
  json.key("loads").array();
  for (const ServedLoad& load : report.loads) json_load(json, report, load);
  json.end_array().key("goodput");
  json.real(report.slo.given() ? goodput(report.loads, report.slo) : std::nullopt);
  json.key("notes").array();
  for (const std::string& note : report.notes) json.text(note);
  json.end_array().end_object();
  return json.line();
}

}  // namespace hearth
