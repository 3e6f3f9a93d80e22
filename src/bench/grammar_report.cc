#include "bench/grammar_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "bench/percentiles.h"

namespace hearth {
namespace {

struct CaseCounts {
  uint64_t compiled = 0, right = 0, lost = 0, let_through = 0, dropped = 0, dead_ends = 0;
};

CaseCounts count_cases(const GrammarBenchResult& result) {
  CaseCounts all;
  for (const GrammarCaseResult& one : result.cases) {
    all.compiled += one.refusal.empty() ? 1 : 0;
    all.right += one.right;
    all.lost += one.lost.size();
    all.let_through += one.let_through.size();
    all.dropped += one.dropped.size();
    all.dead_ends += one.dead_ends;
  }
  return all;
}

std::vector<double> compile_times(const GrammarBenchResult& result) {
  std::vector<double> seconds;
  for (const GrammarCaseResult& one : result.cases) seconds.push_back(one.compile_seconds);
  return seconds;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

std::string times_line(const char* name, const std::vector<double>& seconds, double unit,
                       const char* unit_name) {
  const Percentiles times = percentiles_of(seconds);
  return fmt::format("{:<18}p50 {:.3g}, p99 {:.3g}, max {:.3g} {} ({} times)\n", name,
                     times.p50 / unit, times.p99 / unit, largest(seconds) / unit, unit_name,
                     seconds.size());
}

void times_json(Json& json, const char* key, const std::vector<double>& seconds, double unit) {
  const Percentiles times = percentiles_of(seconds);
  json.key(key).object().key("p50").real(times.p50 / unit).key("p99").real(times.p99 / unit);
  json.key("max").real(largest(seconds) / unit).key("mean").real(times.mean / unit).end_object();
}

double forced_part(const GrammarBenchResult& result) {
  if (result.bytes == 0) return 0;
  return static_cast<double>(result.forced_bytes) / static_cast<double>(result.bytes);
}

void case_json(Json& json, const GrammarCaseResult& one) {
  auto numbers = [&](const char* key, const std::vector<size_t>& all) {
    json.key(key).array();
    for (size_t number : all) json.number(uint64_t{number});
    json.end_array();
  };
  auto texts = [&](const char* key, const std::vector<std::string>& all) {
    json.key(key).array();
    for (const std::string& text : all) json.text(text);
    json.end_array();
  };
  json.object().key("id").text(one.id).key("compile_ms").real(one.compile_seconds * 1e3);
  if (!one.refusal.empty()) json.key("refused").text(one.refusal);
  json.key("slowest_mask_us").real(one.slowest_mask * 1e6);
  json.key("slowest_document").number(uint64_t{one.slowest_document});
  json.key("slowest_byte").number(uint64_t{one.slowest_byte});
  json.key("right").number(uint64_t{one.right});
  numbers("lost", one.lost);
  numbers("let_through", one.let_through);
  texts("left_out", one.dropped);
  texts("walks", one.walks);
  json.key("cut_walks").number(uint64_t{one.cut_walks});
  json.key("dead_ends").number(uint64_t{one.dead_ends}).end_object();
}

}  // namespace

std::string grammar_report_text(const GrammarBenchResult& result) {
  const CaseCounts all = count_cases(result);
  std::string out;
  for (const GrammarCaseResult& one : result.cases) {
    if (!one.refusal.empty()) out += fmt::format("{}: refused: {}\n", one.id, one.refusal);
    for (const std::string& text : one.dropped)
      out += fmt::format("{}: keywords ignored: {}\n", one.id, text);
    for (size_t number : one.lost) out += fmt::format("{}: lost: test {}\n", one.id, number);
    for (size_t number : one.let_through) {
      out += fmt::format("{}: let through: test {}\n", one.id, number);
    }
    if (one.dead_ends > 0) out += fmt::format("{}: {} dead ends\n", one.id, one.dead_ends);
  }
  out += fmt::format("schemas           {}, compiled {}, refused {}\n", result.cases.size(),
                     all.compiled, result.cases.size() - all.compiled);
  out +=
      fmt::format("documents         right {}, valid ones lost {}, invalid ones let through {}\n",
                  all.right, all.lost, all.let_through);
  out += times_line("compiling", compile_times(result), 1e-3, "ms");
  out += times_line("a mask", result.mask_seconds, 1e-6, "us");
  out += times_line("a candidate", result.candidate_seconds, 1e-6, "us");
  out += fmt::format("forced bytes      {:.1f} %\n", 100 * forced_part(result));
  return out;
}

std::string grammar_report_json(const GrammarBenchResult& result) {
  const CaseCounts all = count_cases(result);
  Json json;
  json.object().key("schemas").number(uint64_t{result.cases.size()});
  json.key("compiled").number(all.compiled).key("right").number(all.right);
  json.key("lost").number(all.lost).key("let_through").number(all.let_through);
  json.key("left_out").number(all.dropped).key("dead_ends").number(all.dead_ends);
  times_json(json, "compile_ms", compile_times(result), 1e-3);
  times_json(json, "mask_us", result.mask_seconds, 1e-6);
  times_json(json, "candidate_us", result.candidate_seconds, 1e-6);
  json.key("tokens").number(uint64_t{result.mask_seconds.size()});
  json.key("forced_part").real(forced_part(result));
  json.key("cases").array();
  for (const GrammarCaseResult& one : result.cases) case_json(json, one);
  return json.end_array().end_object().line();
}

}  // namespace hearth
