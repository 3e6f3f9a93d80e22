#include "tune/tuning.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/tuned_plan.h"
#include "kernels/kernels.h"
#include "tune/plan_tuner.h"
#include "tune/schedule_tuner.h"
#include "tune/threshold_tuner.h"
#include "tune/whole_team.h"

namespace hearth {
namespace {

// Pairs of trials that decide about one plan, at most.
constexpr uint32_t kMostPairs = 20;
// Of the node's memory: plans are ranked by it, and differ by more than its best part does.
constexpr uint32_t kBandwidthPasses = 2;
// Where plans and kernels are tuned, kernels have more than half of the time.
constexpr double kPlansPart = 0.4;
// Prefill has what decode leaves of the time for plans, and the threshold what both do.
constexpr double kDecodePart = 0.4, kPhasesPart = 0.8;

void check_tunable(const ModelSpec& spec, const EnginePlan& plan) {
  if (spec.is_encoder()) {
    fail(ErrorCode::kUnsupported, "'{}' is an encoder: tuning is for models that generate text",
         spec.source);
  }
  if (plan.placement.oversubscribed) {
    fail(ErrorCode::kUsage, "threads share CPUs here: tuning needs a CPU for each");
  }
}

uint32_t cores_at_work(uint32_t most_cores, const Machine& machine) {
  return most_cores != 0 ? most_cores : default_thread_count(machine);
}

// The plan with a thread wherever one may sit.
EnginePlan plan_for(const ModelSpec& spec, const Machine& machine, const EngineOptions& options) {
  const EnginePlan plan = plan_engine(machine, options);
  check_tunable(spec, plan);
  return with_all_pus(machine, plan);
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

// One tuning, from the loaded model to what is kept.
class Tuning {
 public:
  Tuning(const Machine& machine, const TunedStore& store, const TuningOptions& options,
         const TuningWatch& watch, const Listener& listener)
      : machine_(machine),
        store_(store),
        options_(options),
        watch_(watch),
        listener_(listener),
        end_(steady_seconds() + options.seconds) {}

  TuningResult run(const OpenedModel& model, Isa isa) {
    EngineOptions engine_options = options_.cases.engine_options();
    engine_options.plan = plan_for(model.spec, machine_, engine_options);
    const TunedLock lock = store_.lock();
    tuned_.machine = machine_fields(machine_, isa);
    tuned_.model = model_fields(model.spec);
    TunedStore::Found found = store_.find(tuned_.machine, tuned_.model);
    if (found.tuned) tuned_ = *std::move(found.tuned);
    if (options_.fresh) {
      if (options_.plans) forget_plans();
      if (options_.kernels) forget_kernels();
    }
    drop_foreign(isa, engine_options);
    // While memory is free.
    if (options_.plans) table_ = bandwidth(isa);
    const std::unique_ptr<Engine> engine =
        start_engine(model, machine_, isa, engine_options, listener_);
    TuningResult result;
    result.whole = tune_all(*engine);
    result.path = store_.save(tuned_);
    result.outcomes = std::move(outcomes_);
    result.tuned = std::move(tuned_);
    return result;
  }

 private:
  // What plans are ranked by. Of this machine it is measured once, whatever the model.
  BandwidthTable bandwidth(Isa isa) const {
    if (options_.table) return *options_.table;
    if (!options_.fresh) {
      TunedStore::FoundBandwidth found = store_.find_bandwidth(machine_, tuned_.machine);
      // An earlier release measured nodes alone.
      if (found.table && found.table->contention) return *std::move(found.table);
      if (!found.note.empty()) listener_.warn(found.note);
    }
    BandwidthOptions how;
    how.passes = kBandwidthPasses;
    how.report = watch_.measured;
    BandwidthTable table = measure_bandwidth(machine_, isa, how);
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
      listener_.warn(fmt::format("what was kept of plans is forgotten: {}", error.what()));
      forget_plans();
    }
    try {
      check_schedules(tuned_schedules(tuned_), kernels_for(isa));
    } catch (const Error& error) {
      listener_.warn(fmt::format("what was kept of kernels is forgotten: {}", error.what()));
      forget_kernels();
    }
  }

  bool tune_all(Engine& engine) {
    bool whole = true;
    if (options_.plans) {
      EnginePlan best = engine.plan();
      const double now = steady_seconds();
      const double until = now + (options_.kernels ? kPlansPart : 1) * (end_ - now);
      whole = tune_phases(engine, until, &best);
      tuned_.engine_plan = whole ? kept_text(best) : "";
      store_.save(tuned_);
      whole = whole && tune_threshold(engine, until, &best);
    }
    if (!options_.kernels) return whole;
    if (const std::optional<EnginePlan> plan = tuned_plan(tuned_, machine_, engine.options())) {
      engine.set_plan(with_all_pus(machine_, *plan));
    }
    return ScheduleTuner(engine, machine_, options_.cases, hooks(end_)).tune(&tuned_) && whole;
  }

  bool tune_phases(Engine& engine, double until, EnginePlan* best) {
    const double start = steady_seconds(), all = until - start;
    bool whole = true;
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const PlanRanking ranking =
          rank_plans(machine_, table_, engine.spec(), engine.plan(), phase, options_.cases,
                     cores_at_work(options_.most_cores, machine_));
      TuneOutcome& outcome = outcomes_.emplace_back(outcome_of(ranking));
      const double part = phase == Phase::kDecode ? kDecodePart : kPhasesPart;
      PlanTuner tuner(engine, options_.cases, hooks(start + all * part));
      bool measured = true;
      outcome.chosen = tuner.tune(phase, ranking.search.best, kMostPairs, &tuned_, &measured);
      whole = whole && measured;
      outcome.result = tuned_.phases.back();
      best->of(phase) = outcome.chosen;
    }
    return whole;
  }

  // The plans are of use without it.
  bool tune_threshold(Engine& engine, double until, EnginePlan* best) {
    ThresholdTuner tuner(engine, options_.cases, hooks(until));
    if (!tuner.tune(*best, kMostPairs, &tuned_)) return false;
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
    hooks.stop = [this, until] { return watch_.interrupted() || steady_seconds() >= until; };
    hooks.save = [this] { store_.save(tuned_); };
    hooks.progress = watch_.progress;
    return hooks;
  }

  const Machine& machine_;
  const TunedStore& store_;
  const TuningOptions& options_;
  const TuningWatch& watch_;
  const Listener& listener_;
  double end_;
  BandwidthTable table_;
  Tuned tuned_;
  std::vector<TuneOutcome> outcomes_;
};

}  // namespace

TuningResult tune_model(const OpenedModel& model, const Machine& machine, Isa isa,
                        const TunedStore& store, const TuningOptions& options,
                        const TuningWatch& watch, const Listener& listener) {
  return Tuning(machine, store, options, watch, listener).run(model, isa);
}

std::vector<TuneOutcome> predict_tuning(const ModelSpec& spec, const Machine& machine,
                                        const BandwidthTable& table, const TuneCases& cases,
                                        uint32_t most_cores) {
  const EnginePlan plan = plan_for(spec, machine, cases.engine_options());
  std::vector<TuneOutcome> outcomes;
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    const PlanRanking ranking =
        rank_plans(machine, table, spec, plan, phase, cases, cores_at_work(most_cores, machine));
    TuneOutcome& outcome = outcomes.emplace_back(outcome_of(ranking));
    const PlanTrial& best = ranking.search.best[0];
    if (best.cost < 1) {
      outcome.chosen = best.plan;
      outcome.result.cost = {best.cost, best.cost, best.cost};
    }
  }
  return outcomes;
}

}  // namespace hearth
