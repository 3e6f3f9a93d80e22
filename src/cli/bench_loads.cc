#include "cli/bench_loads.h"

#include <CLI/CLI.hpp>

#include "base/bytes_text.h"
#include "base/progress.h"
#include "bench/load_bench.h"
#include "cli/load.h"

namespace hearth {
namespace {

// Returns the engine options that `hearth run` would use for one prompt.
EngineOptions run_options(const BenchSession& session, uint32_t threads) {
  EngineArgs args = session.args.engine;
  args.plan.threads = threads;
  EngineOptions options;
  options.outputs = 1;
  set_engine(session.machine, args, &options);
  return options;
}

}  // namespace

CLI::Option* add_load_option(CLI::App& verb, BenchArgs* args,
                             const std::vector<CLI::Option*>& others) {
  CLI::Option* load = verb.add_flag(
      "--load", args->load, "Measure the time to load the model, beside that to copy its bytes");
  for (CLI::Option* other : others) load->excludes(other);
  return load;
}

void measure_loads(BenchSession& session) {
  OpenedModel model =
      open_named_model(session.args.model, {}, session.args.engine, TokenizerUse::kNone);
  session.report.measured = Measured::kLoads;
  session.report.kv_type = session.args.engine.kv_type;
  session.report.isa = environment_isa(detect_cpu_features());
  const std::vector<uint32_t> counts = session.thread_counts();
  const EngineOptions first = run_options(session, counts[0]);
  settle_weights(&model, session.machine, session.report.isa, {&first, 1},
                 ConsoleListener(session.args.engine.verbose));
  session.report.model = describe_for_bench(model);
  BenchRun run;
  bool loaded = false;
  std::unique_ptr<Progress> progress;
  LoadHooks hooks;
  hooks.interrupted = [&] { return session.interrupted(); };
  hooks.progress = [&](uint64_t bytes, std::string_view doing) {
    // Ctrl-C ends the process during the first load. A later load is finished before the process
    // ends, so that no results are lost.
    if (!loaded) session.interrupts.die_if_received();
    progress->update(bytes, doing);
  };
  hooks.note = [&](const std::string& text) { session.note(text); };
  hooks.loaded = [&](const Engine& engine) {
    loaded = true;
    // The engine is printed only once for each number of threads.
    if (session.args.engine.verbose && run.threads == 0) {
      progress->finish();
      print_loaded(model.source, session.machine, engine, std::nullopt);
    }
    describe_engine(engine, &run);
    session.note_threads(engine.placement(), engine.warnings());
  };
  LoadBench bench(model, session.report.isa, hooks);
  uint64_t loads = uint64_t{counts.size()} * session.args.repetitions;
  progress = std::make_unique<Progress>(
      "load", bench.whole_bytes() + loads * bench.repetition_bytes(), bytes_text);
  bench.read_through(session.machine);
  for (uint32_t threads : counts) {
    if (session.interrupted()) return;
    run = {};
    // Reads again how much memory is free. That includes page cache that the system may drop.
    LoadResult result =
        bench.run(Machine::live(), run_options(session, threads), session.args.repetitions);
    if (result.repetitions.empty()) return;
    run.loads = std::move(result);
    session.report.runs.push_back(std::move(run));
  }
}

}  // namespace hearth
