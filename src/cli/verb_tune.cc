// hearth tune: finds the plan of each phase, and the schedule of each product, that are fastest for
// a model on this machine, and keeps them for the other verbs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "bench/plan_tuner.h"
#include "bench/schedule_tuner.h"
#include "bench/threshold_tuner.h"
#include "bench/whole_team.h"
#include "cli/interrupts.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "cli/topo_bandwidth.h"
#include "cli/topo_machine.h"
#include "cli/tune_args.h"
#include "cli/tune_report.h"
#include "cli/tuned_plan.h"
#include "engine/open_model.h"
#include "tune/bandwidth_file.h"

namespace hearth {
namespace {

// Pairs of trials that decide about one plan, at most.
constexpr uint32_t kMostPairs = 20;
// Of the node's memory: plans are ranked by it, and differ by more than its best part does.
constexpr uint32_t kBandwidthPasses = 2;
constexpr uint32_t kMostPrompt = 2048, kMostDepth = 4096;

struct TuneArgs {
  std::string model;
  std::string only, budget = "10m";
  std::optional<std::string> trace, machine, table;
  uint32_t threads = 0;  // 0: all but a core that is kept
  bool fresh = false, json = false, verbose = false;
  bool list = false, show = false, remove = false;
};

TuneCases cases_of(const TuneArgs& args) {
  if (!args.trace) return {};
  return cases_of_trace(read_text(*args.trace), kMostPrompt, kMostDepth);
}

Isa isa_here() { return environment_isa(detect_cpu_features()); }

OpenedModel open_shape(const TuneArgs& args) {
  if (args.model.empty()) fail(ErrorCode::kUsage, "tune needs a MODEL, or --list");
  return open_named_model(args.model, {}, args.verbose, TokenizerUse::kNone, ModelUse::kShape);
}

void check_tunable(const ModelSpec& spec, const EnginePlan& plan) {
  if (spec.is_encoder()) {
    fail(ErrorCode::kUnsupported, "'{}' is an encoder: tuning is for models that generate text",
         spec.source);
  }
  if (plan.placement.oversubscribed) {
    fail(ErrorCode::kUsage, "threads share CPUs here: tuning needs a CPU for each");
  }
}

// Cores that may be at work.
uint32_t most_cores(const TuneArgs& args, const Machine& machine) {
  return args.threads != 0 ? args.threads : default_thread_count(machine);
}

TuneOutcome outcome_of(const PlanRanking& ranking) {
  TuneOutcome outcome;
  outcome.start = outcome.chosen = ranking.space.start;
  outcome.trees = ranking.search.trees;
  outcome.plans = ranking.search.plans;
  outcome.evaluations = ranking.search.evaluations;
  outcome.result.phase = ranking.space.start.phase;
  return outcome;
}

// `kernels`: what was found of these; none where nobody asked.
int tell_tuned(const TuneArgs& args, const std::vector<TuneOutcome>& plans, const Tuned* kernels,
               const std::string& path) {
  if (args.json) {
    write_stdout(outcomes_json(plans, kernels, path));
    return 0;
  }
  std::string text = outcomes_text(plans);
  if (kernels != nullptr) text += kernels_text(*kernels, args.verbose);
  write_stdout(text + (path.empty() ? "" : fmt::format("kept in {}\n", path)));
  return 0;
}

BandwidthTable read_table(const std::string& path, const Machine& machine) {
  BandwidthTable table = parse_bandwidth(read_text(path), path);
  check_bandwidth(table, machine);
  return table;
}

// Another machine: what the cost model says, and nothing is kept.
int predict_only(const TuneArgs& args) {
  const OpenedModel model = open_shape(args);
  const Machine machine = named_machine(*args.machine);
  const TuneCases cases = cases_of(args);
  EnginePlan plan = plan_engine(machine, cases.engine_options());
  check_tunable(model.spec, plan);
  plan = with_all_pus(machine, plan);
  const BandwidthTable table =
      args.table ? read_table(*args.table, machine) : assumed_bandwidth(machine);
  std::vector<TuneOutcome> outcomes;
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    const PlanRanking ranking =
        rank_plans(machine, table, model.spec, plan, phase, cases, most_cores(args, machine));
    TuneOutcome& outcome = outcomes.emplace_back(outcome_of(ranking));
    const PlanTrial& best = ranking.search.best[0];
    if (best.cost < 1) {
      outcome.chosen = best.plan;
      outcome.result.cost = {best.cost, best.cost, best.cost};
    }
  }
  if (!args.table) {
    print_note(
        "no bandwidth is known of that machine: 100 GB/s a node are assumed; measure it there "
        "with `hearth topo --bandwidth -o FILE`, and give --bandwidth-table FILE");
  }
  return tell_tuned(args, outcomes, nullptr, "");
}

// One tuning, from the loaded model to what is kept.
class Tuning {
 public:
  explicit Tuning(const TuneArgs& args)
      : args_(args),
        cases_(cases_of(args)),
        end_(steady_seconds() + parse_budget(args.budget)),
        machine_(Machine::live()),
        store_(environment_store()) {}

  int run() {
    const OpenedModel model = open_named_model(args_.model, {}, args_.verbose, TokenizerUse::kNone);
    const Isa isa = isa_here();
    EngineOptions options = cases_.engine_options();
    const EnginePlan plan = plan_engine(machine_, options);
    check_tunable(model.spec, plan);
    options.plan = engine_plan_text(machine_, with_all_pus(machine_, plan));
    const TunedLock lock = store_.lock();
    tuned_.machine = machine_fields(machine_, isa);
    tuned_.model = model_fields(model.spec);
    TunedStore::Found found = store_.find(tuned_.machine, tuned_.model);
    if (found.tuned) tuned_ = *std::move(found.tuned);
    if (args_.fresh) {
      if (tunes_plans()) forget_plans();
      if (tunes_kernels()) forget_kernels();
    }
    drop_foreign(isa, options);
    // While memory is free.
    if (tunes_plans()) table_ = bandwidth();
    ConsoleListener console(args_.verbose, &interrupts_);
    const std::unique_ptr<Engine> engine = start_engine(model, machine_, isa, options, console);
    const bool whole = tune_all(*engine);
    const std::string path = store_.save(tuned_);
    tell_tuned(args_, outcomes_, tunes_kernels() ? &tuned_ : nullptr, path);
    if (interrupts_.received()) return kInterruptedStatus;
    if (!whole) print_note("the time was too short for all of it: the next `hearth tune` goes on");
    return 0;
  }

 private:
  bool tunes_plans() const { return args_.only != "kernels"; }
  bool tunes_kernels() const { return args_.only != "plans"; }

  // What plans are ranked by. Of this machine it is measured once, whatever the model.
  BandwidthTable bandwidth() const {
    if (args_.table) return read_table(*args_.table, machine_);
    if (!args_.fresh) {
      TunedStore::FoundBandwidth found = store_.find_bandwidth(machine_, tuned_.machine);
      // An earlier release measured nodes alone.
      if (found.table && found.table->contention) return *std::move(found.table);
      if (!found.note.empty()) print_note(found.note);
    }
    BandwidthTable table = measure_with_progress(machine_, kBandwidthPasses, &interrupts_);
    store_.save_bandwidth(machine_, tuned_.machine, table);
    return table;
  }

  void forget_plans() {
    tuned_.phases.clear();
    tuned_.trials.clear();
    tuned_.threshold.reset();
    tuned_.threshold_trials.clear();
    tuned_.engine_plan.clear();
  }

  void forget_kernels() {
    tuned_.products.clear();
    tuned_.steps.clear();
  }

  // A file that somebody else wrote may have a plan for CPUs that are not there, and schedules that
  // no kernel knows.
  void drop_foreign(Isa isa, const EngineOptions& options) {
    try {
      tuned_plan(tuned_, machine_, options);
    } catch (const Error& error) {
      print_note(fmt::format("what was kept of plans is forgotten: {}", error.what()));
      forget_plans();
    }
    try {
      check_schedules(tuned_schedules(tuned_), kernels_for(isa));
    } catch (const Error& error) {
      print_note(fmt::format("what was kept of kernels is forgotten: {}", error.what()));
      forget_kernels();
    }
  }

  bool tune_all(Engine& engine) {
    bool whole = true;
    if (tunes_plans()) {
      EnginePlan best = engine.plan();
      // Kernels have more than half of the time.
      const double now = steady_seconds();
      const double until = now + (tunes_kernels() ? 0.4 : 1) * (end_ - now);
      whole = tune_phases(engine, until, &best);
      tuned_.engine_plan = whole ? kept_text(best) : "";
      store_.save(tuned_);
      whole = whole && tune_threshold(engine, until, &best);
    }
    if (!tunes_kernels()) return whole;
    if (const std::optional<EnginePlan> plan = tuned_plan(tuned_, machine_, engine.options())) {
      engine.set_plan(with_all_pus(machine_, *plan));
    }
    return ScheduleTuner(engine, machine_, cases_, hooks(end_)).tune(&tuned_) && whole;
  }

  bool tune_phases(Engine& engine, double until, EnginePlan* best) {
    const double start = steady_seconds(), all = until - start;
    bool whole = true;
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const PlanRanking ranking = rank_plans(machine_, table_, engine.spec(), engine.plan(), phase,
                                             cases_, most_cores(args_, machine_));
      TuneOutcome& outcome = outcomes_.emplace_back(outcome_of(ranking));
      // Prefill has what decode leaves, and the threshold what both do.
      PlanTuner tuner(engine, cases_, hooks(start + all * (phase == Phase::kDecode ? 0.4 : 0.8)));
      bool measured = true;
      outcome.chosen = tuner.tune(phase, ranking.search.best, kMostPairs, &tuned_, &measured);
      progress_.reset();
      whole = whole && measured;
      outcome.result = tuned_.phases.back();
      best->of(phase) = outcome.chosen;
    }
    return whole;
  }

  // The plans are of use without it.
  bool tune_threshold(Engine& engine, double until, EnginePlan* best) {
    const bool whole =
        ThresholdTuner(engine, cases_, hooks(until)).tune(*best, kMostPairs, &tuned_);
    progress_.reset();
    if (!whole) return false;
    TuneOutcome& decode = outcomes_.front();
    decode.threshold = tuned_.threshold;
    decode.chosen.max_rows = best->decode.max_rows = tuned_.threshold->rows;
    tuned_.engine_plan = kept_text(*best);
    return true;
  }

  std::string kept_text(const EnginePlan& plan) const {
    return engine_plan_text(machine_, without_resting(plan));
  }

  TuneHooks hooks(double until) {
    TuneHooks hooks;
    hooks.stop = [this, until] { return interrupts_.received() || steady_seconds() >= until; };
    hooks.save = [this] { store_.save(tuned_); };
    hooks.progress = [this](const TuneProgress& at) {
      constexpr double kFine = 100;
      if (!progress_) {
        progress_ = std::make_unique<Progress>(
            fmt::format("tuning {}", at.what), uint64_t{at.all} * 100, [](uint64_t parts) {
              return fmt::format("{:.1f}", static_cast<double>(parts) / kFine);
            });
      }
      const double part = std::min(0.95, static_cast<double>(at.trials) / at.about);
      progress_->update(static_cast<uint64_t>((at.done + part) * kFine),
                        fmt::format("{} {} of {}, trial {}, best {:.1f} % of the default's time",
                                    at.unit, at.done + 1, at.all, at.trials, 100 * at.best));
    };
    return hooks;
  }

  const TuneArgs& args_;
  TuneCases cases_;
  double end_;
  Machine machine_;
  TunedStore store_;
  BandwidthTable table_;
  Interrupts interrupts_;
  Tuned tuned_;
  std::vector<TuneOutcome> outcomes_;
  std::unique_ptr<Progress> progress_;
};

int tell_stored(const TuneArgs& args) {
  const TunedStore store = environment_store();
  std::string out;
  if (args.list) {
    for (const TunedStore::Entry& entry : store.list()) out += stored_text(entry);
    write_stdout(out.empty() ? "nothing was tuned yet\n" : out);
    return 0;
  }
  const OpenedModel model = open_shape(args);
  const TunedFields machine = machine_fields(Machine::live(), isa_here());
  const TunedFields shape = model_fields(model.spec);
  if (args.remove) {
    const TunedLock lock = store.lock();
    const bool removed = store.remove(machine, shape);
    write_stdout(removed ? "removed\n" : "nothing was tuned for this model on this machine\n");
    return 0;
  }
  const TunedStore::Found found = store.find(machine, shape);
  if (!found.note.empty()) print_note(found.note);
  write_stdout(found.tuned ? stored_text({found.path, found.tuned, ""}) + found.tuned->engine_plan
                           : "nothing was tuned for this model on this machine\n");
  return 0;
}

int tune(const TuneArgs& args) {
  if (args.list || args.show || args.remove) return tell_stored(args);
  parse_budget(args.budget);
  if (args.machine) return predict_only(args);
  if (args.model.empty()) fail(ErrorCode::kUsage, "tune needs a MODEL, or --list");
  return Tuning(args).run();
}

}  // namespace

void add_tune(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand(
      "tune", "Find how a model is computed fastest here, and keep it for run, bench and serve");
  auto args = std::make_shared<TuneArgs>();
  take_model_name(verb.add_option("model", args->model,
                                  "GGUF file, a folder of safetensors, or a name (`hearth list`)")
                      ->type_name("MODEL"));
  add_choice(verb, "--only", &args->only, {"plans", "kernels"},
             "Tune plans or kernels alone; without it both");
  verb.add_option("--budget", args->budget, "Time to take at most, such as 90s, 10m or 1h")
      ->type_name("TIME")
      ->capture_default_str();
  add_text(verb, "--trace", &args->trace, "CSV",
           "Tune for requests of these lengths: a line 'prompt,output' for each, in tokens");
  add_count(verb, "-t,--threads", &args->threads, 1, kMostMembers,
            "Cores that may be at work at a time; default: as many as the engine takes, which from "
            "8 on is all but one");
  CLI::Option* machine =
      add_text(verb, "--machine", &args->machine, "MACHINE",
               "Predict for another machine: hwloc's XML file, or 'synthetic DESCRIPTION'");
  add_text(verb, "--bandwidth-table", &args->table, "FILE",
           "Rank plans by the table in FILE, which `hearth topo --bandwidth -o FILE` measures");
  verb.add_flag("--fresh", args->fresh, "Forget what was measured before")->excludes(machine);
  verb.add_flag("--json", args->json, "Print one JSON object");
  CLI::Option* list = verb.add_flag("--list", args->list, "Show all that is kept");
  CLI::Option* show = verb.add_flag("--show", args->show, "Show what is kept for MODEL here");
  verb.add_flag("--remove", args->remove, "Remove what is kept for MODEL here")
      ->excludes(list)
      ->excludes(show);
  list->excludes(show);
  verb.add_flag("-v,--verbose", args->verbose, "Tell more");
  add_examples(verb,
               "  hearth tune model.gguf\n"
               "  hearth tune model.gguf --only kernels\n"
               "  hearth tune model.gguf --budget 2m --trace requests.csv\n"
               "  hearth tune model.gguf --machine 'synthetic pack:2 numa:4 l3:4 core:4 pu:2'\n"
               "  hearth tune --list");
  verb.callback([args, &action] { action = [args] { return tune(*args); }; });
}

}  // namespace hearth
