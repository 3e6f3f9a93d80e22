// hearth bench: measures how fast a model runs here, and the limits of this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/progress.h"
#include "bench/runner.h"
#include "cli/bench_compare.h"
#include "cli/bench_embed.h"
#include "cli/bench_gpu.h"
#include "cli/bench_kernels.h"
#include "cli/bench_loads.h"
#include "cli/bench_serve.h"
#include "cli/bench_session.h"
#include "cli/load.h"
#include "cli/program.h"
#include "engine/engine_plan.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxSequences = 1024;

EngineOptions engine_options(const BenchArgs& args, const std::vector<BenchCase>& cases) {
  EngineOptions options = options_for(cases);
  for (uint32_t prompt : args.arriving) fit_arrival(prompt, &options);
  if (options.context > kMaxContext) {
    fail(ErrorCode::kUsage,
         "depth and length add up to {} tokens, and a context has at most {}: lower -d, -p or -n",
         options.context - 1, kMaxContext - 1);
  }
  return options;
}

void measure_arrivals(BenchSession& session, Engine& engine, const std::string& model,
                      const BenchHooks& hooks, BenchRun* run) {
  for (uint32_t prompt : session.args.arriving) {
    for (uint32_t limit : session.args.step_limits) {
      if (session.interrupted()) return;
      run->arrivals.push_back(
          measure_arrival(engine, model, {prompt, limit * 1e-3}, session.args.repetitions, hooks));
    }
  }
}

// Runs all cases with one number of threads on one load of the model. `progress` starts at `done`
// tokens.
BenchRun run_cases(BenchSession& session, OpenedModel& model, const std::vector<BenchCase>& cases,
                   uint32_t threads, Progress& progress, uint64_t done) {
  // Loading shows another progress line, and prints lines that stay.
  progress.finish();
  EngineArgs engine_args = session.args.engine;
  engine_args.plan.threads = threads;
  // If there are results, Ctrl-C waits for the load to end, so that the results are not lost.
  Interrupts* while_loading = session.report.runs.empty() ? &session.interrupts : nullptr;
  std::unique_ptr<Engine> engine =
      load_engine(model, engine_args, engine_options(session.args, cases), while_loading);
  auto limits = make_limits(session, engine->team(), engine->placement(), {engine->isa()});
  WorkGraph work{engine->graph(Phase::kDecode), engine->options().kv_type,
                 units_of(kernels_for(engine->isa()).limits)};
  if (model.spec.has_latents()) {
    work.expand = engine->options().expand;
    work.step_rows = engine->options().prefill_rows;
  }
  BenchHooks hooks;
  hooks.interrupted = [&] { return session.interrupted(); };
  hooks.progress = [&](uint64_t tokens, std::string_view doing) {
    progress.update(done + tokens, doing);
  };
  BenchRun run;
  describe_engine(*engine, &run);
  run.unit = work.unit();
  session.report.isa = engine->isa();
  note_made_type(engine->spec().policy, &*session.report.model);
  {
    // The runner is destroyed before the arrivals are measured, so that its KV pages are free.
    BenchRunner runner(*engine, *limits, work, hooks);
    runner.set_profiling(session.args.profile);
    for (const BenchCase& what : cases) {
      run.results.push_back(runner.run(what, session.args.repetitions));
      if (runner.interrupted()) break;
    }
  }
  measure_arrivals(session, *engine, model.source.name(), hooks, &run);
  run.buffer = limits->buffer();
  run.limits = limits->levels();
  return run;
}

void measure_model(BenchSession& session) {
  const BenchArgs& args = session.args;
  std::vector<BenchCase> cases = bench_cases(args.lists);
  if (cases.empty() && args.arriving.empty()) {
    fail(ErrorCode::kUsage, "-p 0 and -n 0 leave nothing to measure: give a length");
  }
  OpenedModel model =
      open_named_model(args.model, {}, args.engine, TokenizerUse::kNone, ModelUse::kText);
  session.report.model = describe_for_bench(model);
  session.report.kv_type = args.engine.kv_type;
  uint64_t tokens = 0;
  for (const BenchCase& what : cases) tokens += what.all_tokens() * args.repetitions;
  std::vector<uint32_t> counts = session.thread_counts();
  Progress progress("bench", tokens * counts.size(),
                    [](uint64_t n) { return fmt::format("{} tokens", n); });
  for (size_t i = 0; i < counts.size() && !session.interrupted(); ++i) {
    session.report.runs.push_back(
        run_cases(session, model, cases, counts[i], progress, i * tokens));
  }
}

void measure_limits(BenchSession& session) {
  std::vector<Isa> isas = available_isas(detect_cpu_features());
  std::vector<uint32_t> counts = session.thread_counts();
  uint32_t repetitions = session.args.repetitions;
  Progress progress("limits", counts.size() * repetitions,
                    [](uint64_t n) { return fmt::format("{} samples", n); });
  for (size_t i = 0; i < counts.size(); ++i) {
    PlanArgs plan = session.args.engine.plan;
    plan.threads = counts[i];
    EngineOptions options;
    set_plan(session.machine, plan, &options);
    Placement placement = plan_engine(session.machine, options).placement;
    Team team(placement, TeamOptions{.pin_caller = true});
    auto limits = make_limits(session, team, placement, isas);
    for (uint32_t r = 0; r < repetitions && !session.interrupted(); ++r) {
      limits->sample();
      progress.update(i * repetitions + r + 1);
    }
    BenchRun& run = session.report.runs.emplace_back();
    run.threads = team.size();
    run.buffer = limits->buffer();
    run.limits = limits->levels();
    if (session.report.interrupted) return;
  }
}

int bench(const BenchArgs& args, const BenchServeArgs& serve, const BenchEmbedArgs& embed,
          const PromptGpuArgs& gpu) {
  if ((args.profile || !args.arriving.empty()) && args.form == "csv") {
    fail(ErrorCode::kUsage, "--profile and --arrive cannot write CSV: give -o md or -o json");
  }
  if (!args.compared.empty()) return compare_reports(args);
  BenchSession session(args);
  if (!serve.url.empty()) return measure_serve(session, serve);
  if (embed.embed) return measure_embed(session, embed);
  if (gpu.gpu) return measure_gpu(session, gpu);
  if (args.limits) {
    measure_limits(session);
  } else if (args.kernels) {
    Contenders nobody;
    measure_kernels(session, nobody);
  } else if (args.load) {
    measure_loads(session);
  } else {
    measure_model(session);
  }
  return print_report(session);
}

// Adds the options that only measurements of steps use.
std::vector<CLI::Option*> add_step_options(CLI::App& verb, BenchArgs* args) {
  BenchLists& lists = args->lists;
  std::vector<CLI::Option*> options = {
      add_counts(verb, "-p,--prefill", &lists.prefill, 0, kMaxContext,
                 "Prompt lengths to prefill; 0: no prefill")
          ->default_str("512"),
      add_counts(verb, "-n,--decode", &lists.decode, 0, kMaxContext,
                 "Numbers of tokens to decode; 0: no decode")
          ->default_str("128"),
      add_counts(verb, "-d,--depth", &lists.depths, 0, kMaxContext,
                 "Tokens already in the context before measuring")
          ->default_str("0"),
      add_counts(verb, "-b,--batch", &lists.sequences, 1, kMaxSequences,
                 "Numbers of sequences that decode together (batch sizes)")
          ->default_str("1"),
      add_counts(
          verb, "--arrive", &args->arriving, 1, kMaxContext,
          "Measure the longest pause of a decoding sequence while prompts of these lengths arrive"),
      add_counts(verb, "--step-ms", &args->step_limits, 0, 1u << 20,
                 "With --arrive: time limits of a step in milliseconds; 0: no limit")
          ->default_str("0,250"),
      verb.add_flag("--profile", args->profile,
                    "Show the time of every op and thread, and their waits")};
  verb.get_option("--step-ms")->needs(verb.get_option("--arrive"));
  return options;
}

using OptionNames = std::initializer_list<const char*>;

// How an engine stores weights, keys and values, and how it divides them and its work.
constexpr OptionNames kStoring = {"--kv-type", "--weights", "--importance"};
constexpr OptionNames kDividing = {"--shards", "--groups", "--sync", "--experts", "--interleave"};

void append(CLI::App& verb, OptionNames names, std::vector<CLI::Option*>* options) {
  for (const char* name : names) options->push_back(verb.get_option(name));
}

// Returns the options that only measurements in this process use.
std::vector<CLI::Option*> not_with_serve(CLI::App& verb, CLI::Option* model) {
  std::vector<CLI::Option*> options = {model};
  append(verb,
         {"--depth", "--batch", "--arrive", "--profile", "--threads", "--repetitions", "--limits",
          "--kernels", "--load", "--nodes", "--cpus", "--plan", "--verbose"},
         &options);
  append(verb, kStoring, &options);
  append(verb, kDividing, &options);
  return options;
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("bench", "Measure speed beside the machine's limits");
  auto args = std::make_shared<BenchArgs>();
  auto serve = std::make_shared<BenchServeArgs>();
  auto embed = std::make_shared<BenchEmbedArgs>();
  auto gpu = std::make_shared<PromptGpuArgs>();
  CLI::Option* model = add_model_or_demo(verb, &args->model);
  std::vector<CLI::Option*> of_steps = add_step_options(verb, args.get());
  CLI::Option* threads = add_team_options(
      verb, args.get(),
      "one per core that may be used, less one from 8 cores up; with --kernels 1,2");
  add_storage_options(verb, &args->engine, threads);
  CLI::Option* limits = verb.add_flag(
      "--limits", args->limits, "Measure the machine's bandwidth and arithmetic, without a model");
  limits->excludes(model);
  std::vector<CLI::Option*> not_limits = of_steps;
  append(verb, kStoring, &not_limits);
  append(verb, kDividing, &not_limits);
  append(verb, {"--verbose"}, &not_limits);
  for (CLI::Option* option : not_limits) limits->excludes(option);
  std::vector<CLI::Option*> others = of_steps;
  others.push_back(limits);
  CLI::Option* load = add_load_option(verb, args.get(), others);
  others.push_back(load);
  append(verb, kStoring, &others);
  append(verb, kDividing, &others);
  append(verb, {"--plan"}, &others);
  add_kernel_options(verb, args.get(), others);
  add_bench_serve_options(verb, serve.get(), not_with_serve(verb, model),
                          {of_steps[0], of_steps[1]});
  std::vector<CLI::Option*> not_embed(of_steps.begin() + 1, of_steps.end());
  append(verb, {"--limits", "--load", "--kernels", "--serve"}, &not_embed);
  append(verb, kStoring, &not_embed);
  add_bench_embed_options(verb, embed.get(), not_embed);
  std::vector<CLI::Option*> not_gpu(of_steps.begin() + 1, of_steps.end());
  append(verb, {"--limits", "--load", "--kernels", "--serve", "--embed"}, &not_gpu);
  add_bench_gpu_options(verb, gpu.get(), not_gpu);
  add_compare_option(verb, args.get());
  add_forms(verb, args.get());
  add_examples(verb,
               "  hearth bench\n  hearth bench model.gguf\n"
               "  hearth bench model.gguf -p 15,300,512,2048 -n 128,256 -t 1,2\n"
               "  hearth bench model.gguf -p 0 -n 64 -b 1,2,4,8,16 -d 0,4096\n"
               "  hearth bench model.gguf --json | jq '.runs[].tests[].tokens_per_second.median'\n"
               "  hearth bench model.gguf -p 512 -n 64 -r 2 --profile\n"
               "  hearth bench model.gguf -p 0 -n 0 --arrive 2048 --step-ms 0,100,250\n"
               "  hearth bench model.gguf --gpu auto -p 512,2048\n"
               "  hearth bench --limits\n"
               "  hearth bench model.gguf --kernels --types f32,bf16 -m 1,64\n"
               "  hearth bench model.gguf --load -t 1,2\n"
               "  hearth bench --serve http://127.0.0.1:8080 -p 512 -n 128 --concurrency 1,16\n"
               "  hearth bench --serve http://127.0.0.1:8080 --lengths lengths.csv --rate 1,2,4"
               " --slo-ttft-ms 2000 --slo-tpot-ms 100\n"
               "  hearth bench model.gguf -o html > report.html\n"
               "  hearth bench --compare before.json after.json\n"
               "  hearth bench --embed --device sim:alpha=0.018,beta=0.27,name=v100"
               " --device sim:alpha=0.084,beta=0.32,kind=cpu,name=xeon --slo 1s");
  CLI::Option* lengths = of_steps[0];
  verb.callback([args, serve, embed, gpu, lengths, &action] {
    if (lengths->count() > 0) embed->lengths = args->lists.prefill;
    action = [args, serve, embed, gpu] { return bench(*args, *serve, *embed, *gpu); };
  });
}

}  // namespace hearth
