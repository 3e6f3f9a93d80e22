#include "cli/bench_gpu.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/spread.h"
#include "cli/load.h"
#include "cli/text_io.h"

namespace hearth {
namespace {

struct PassResult {
  uint32_t rows = 0;
  Spread seconds = {};
  double predicted = 0;
};

std::vector<uint32_t> lengths_for(const BenchArgs& args) {
  std::vector<uint32_t> lengths = args.lists.prefill;
  std::erase(lengths, 0);
  if (lengths.empty()) {
    fail(ErrorCode::kUsage,
         "--gpu measures prompts, and -p 0 has none: give a length of 1 or more");
  }
  return lengths;
}

// Returns the seconds of each pass over a text of `rows` tokens, after one pass that it does not
// measure.
std::vector<double> seconds_of(PassRunner& pass, uint32_t rows, uint32_t repetitions) {
  const std::vector<int32_t> tokens(rows, 0);
  std::vector<uint32_t> pages(pages_for(rows));
  std::iota(pages.begin(), pages.end(), 0);
  const PassText text{tokens, 0, pages};
  AllWanted watch;
  std::vector<double> seconds;
  for (uint32_t i = 0; i <= repetitions; ++i) {
    const double begin = steady_seconds();
    pass.run({&text, 1}, watch);
    if (i > 0) seconds.push_back(steady_seconds() - begin);
  }
  return seconds;
}

std::string table_text(const PromptPass& made, bool is_virtual,
                       const std::vector<PassResult>& results) {
  std::string text = fmt::format(
      "through {}{}\n\n| pass | seconds | spread | tokens/s | predicted | taken / "
      "predicted |\n|---:|---:|---:|---:|---:|---:|\n",
      made.gpu, is_virtual ? ", by virtual time" : "");
  for (const PassResult& one : results) {
    text +=
        fmt::format("| {} | {:.3f} | {:.1f} % | {:.0f} | {:.3f} | {:.2f} |\n", one.rows,
                    one.seconds.median, 100 * one.seconds.relative(), one.rows / one.seconds.median,
                    one.predicted, one.seconds.median / one.predicted);
  }
  return text;
}

std::string json_text(const PromptPass& made, bool is_virtual,
                      const std::vector<PassResult>& results) {
  Json json;
  json.object().key("gpu").text(made.gpu).key("virtual_time").boolean(is_virtual);
  json.key("rows").number(made.plan.rows).key("layers_kept").number(made.plan.kept);
  json.key("berths").number(made.plan.berths).key("experts").number(made.plan.experts);
  json.key("passes").array();
  for (const PassResult& one : results) {
    json.object().key("rows").number(one.rows).key("seconds").object();
    json.key("median").real(one.seconds.median).key("min").real(one.seconds.least);
    json.key("max").real(one.seconds.most).end_object();
    json.key("predicted_seconds").real(one.predicted).end_object();
  }
  return json.end_array().end_object().line();
}

}  // namespace

void add_bench_gpu_options(CLI::App& verb, PromptGpuArgs* args,
                           const std::vector<CLI::Option*>& others) {
  CLI::Option* gpu = add_text(
      verb, "--gpu", &args->gpu, "GPU",
      "Measure prefill of the prompts of -p through a GPU, beside the predicted time: auto, a name "
      "that `hearth gpu` shows, or virtual:FILE for a GPU that a file describes (in virtual time)");
  for (CLI::Option* other : others) gpu->excludes(other);
  for (CLI::Option* one : add_gpu_plan_options(verb, args)) one->needs(gpu);
}

int measure_gpu(BenchSession& session, const PromptGpuArgs& gpu) {
  const BenchArgs& args = session.args;
  if (args.form == "csv" || draws_charts(args)) {
    fail(ErrorCode::kUsage, "--gpu cannot write a report as {}: give -o md or -o json", args.form);
  }
  const PromptStreamOptions how = prompt_stream_options(gpu);
  if (how.gpu == "none")
    fail(ErrorCode::kUsage, "--gpu none leaves nothing to measure: give auto or the name of a GPU");
  const std::vector<uint32_t> lengths = lengths_for(args);
  OpenedModel model =
      open_named_model(args.model, {}, args.engine, TokenizerUse::kNone, ModelUse::kText);
  EngineOptions options;
  options.context = std::ranges::max(lengths) + 1;
  options.sequences = 1;
  EngineArgs engine_args = args.engine;
  engine_args.plan.threads = session.thread_counts().front();
  const std::unique_ptr<Engine> engine =
      load_engine(model, engine_args, options, &session.interrupts);
  const PassTarget target = engine->pass_target();
  std::optional<AcceleratorRates> rates;
  PromptPass made = how.described ? plan_prompt_pass(target, *how.described, how.plan)
                                  : make_prompt_pass(target, how, true, &rates);
  std::optional<PassClock> clock;
  if (how.described) clock.emplace(target, *how.described, made.plan);
  std::vector<PassResult> results;
  for (const uint32_t rows : lengths) {
    if (session.interrupted()) break;
    if (rows > made.plan.rows) {
      fail(ErrorCode::kUsage,
           "a pass through the GPU has at most {} tokens, and -p asks for {}: raise --gpu-rows, or "
           "give a shorter prompt",
           made.plan.rows, rows);
    }
    const std::vector<double> seconds = clock ? std::vector<double>{clock->seconds(rows)}
                                              : seconds_of(*made.pass, rows, args.repetitions);
    results.push_back({rows, spread_of(seconds), made.time->seconds(rows)});
  }
  const bool as_json = args.json || args.form == "json";
  write_stdout(as_json ? json_text(made, how.described.has_value(), results)
                       : table_text(made, how.described.has_value(), results));
  return session.report.interrupted ? kInterruptedStatus : 0;
}

}  // namespace hearth
