#include "tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "engine/tuned_plan.h"
#include "kernels/kernels.h"
#include "tune/joint_tuner.h"
#include "tune/plan_pairs.h"
#include "tune/plan_tuner.h"
#include "tune/schedule_tuner.h"
#include "tune/threshold_tuner.h"
#include "tune/time_budget.h"
#include "tune/whole_team.h"

namespace hearth {
namespace {

// How many passes over each node's memory are measured. Two are enough to rank plans, since plans
// differ by more than passes do.
constexpr uint32_t kBandwidthPasses = 2;
// The share of the time for measuring what cores lose by working at the same time.
constexpr double kContentionPart = 0.05;
// The share of the time for plans, if kernels are tuned, too. So kernels get more than half.
constexpr double kPlansPart = 0.4;
// Decode's share of the time for plans, and prefill's share of the rest. The threshold has the time
// that both leave.
constexpr double kDecodePart = 0.4, kPrefillPart = 0.67;

// The text in a result's `left` that stands for kernels.
constexpr std::string_view kKernelsLeft = "kernels";

void check_tunable(const EnginePlan& plan) {
  if (plan.placement.oversubscribed) {
    fail(ErrorCode::kUsage, "tuning needs a CPU for each thread: lower --threads");
  }
}

uint32_t cores_at_work(uint32_t max_cores, const Machine& machine) {
  return max_cores != 0 ? max_cores : default_thread_count(machine);
}

// Returns the default plan with a thread on every allowed PU (with_all_pus()).
EnginePlan plan_for(const Machine& machine, const EngineOptions& options) {
  const EnginePlan plan = plan_engine(machine, options);
  check_tunable(plan);
  return with_all_pus(machine, plan);
}

std::vector<uint32_t> lengths_of(const TuneCases& cases) {
  std::vector<uint32_t> lengths{cases.depth};
  lengths.insert(lengths.end(), cases.prompts.begin(), cases.prompts.end());
  return lengths;
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

// A whole tuning: from loading the model to storing the results.
class Tuning {
 public:
  Tuning(const ModelSpec& spec, const Machine& machine, const TunedStore& store,
         const TuningOptions& options, const TuningWatch& watch, const Listener& listener)
      : cases_(cases_for(spec, options.cases)),
        machine_(machine),
        store_(store),
        options_(options),
        watch_(watch),
        listener_(listener),
        budget_(options.seconds) {}

  TuningResult run(const OpenedModel& model, Isa isa) {
    EngineOptions engine_options = cases_.engine_options();
    engine_options.plan = plan_for(machine_, engine_options);
    const TunedLock lock = store_.lock();
    tuned_.machine = machine_fields(machine_, isa);
    tuned_.model = model_fields(model.spec);
    TunedStore::Found found = store_.find(tuned_.machine, tuned_.model);
    if (found.tuned) tuned_ = *std::move(found.tuned);
    if (options_.fresh && options_.kernels) forget_kernels();
    drop_foreign(isa, engine_options);
    if (options_.plans) begin_plans(model.spec);
    // The bandwidth is measured before the model is loaded, while memory is free.
    if (options_.plans) table_ = bandwidth(isa);
    const std::unique_ptr<Engine> engine =
        start_engine(model, machine_, isa, engine_options, listener_);
    StepTimer timer(*engine, cases_);
    TuningResult result;
    tune_all(*engine, timer, &result);
    // If a part ends early, its time is left for parts whose share was too short. So they go on
    // here.
    const auto ends = [&] { return watch_.interrupted() || budget_.is_over(); };
    for (bool more = true; more && !result.left.empty() && !ends();) {
      const Tuned before = tuned_;
      engine->set_plan(*engine_options.plan, {});
      result = tune_on(*engine, timer, result);
      more = tuned_ != before;
    }
    result.path = save();
    result.tuned = saved();
    return result;
  }

 private:
  // Returns the table by which plans are ranked. It is measured once on this machine, for all
  // models. It is measured again if the user asks for that, or if the time now allows patterns that
  // were left out before. If the time does not even allow the patterns that are known, the earlier
  // contention stays.
  BandwidthTable bandwidth(Isa isa) const {
    if (options_.table) return *options_.table;
    BandwidthOptions how;
    how.passes = kBandwidthPasses;
    how.contention_seconds = std::min(how.contention_seconds, kContentionPart * budget_.left());
    how.report = watch_.measured;
    TunedStore::FoundBandwidth found = store_.find_bandwidth(machine_, tuned_.machine);
    // A table from an earlier release has no contention; a table from a short tuning may lack
    // patterns.
    const bool known = found.table && found.table->contention;
    const bool enough =
        known && !is_worth_measuring(*found.table->contention, how.contention_seconds);
    if (enough && !options_.fresh) return *std::move(found.table);
    if (!found.note.empty() && !options_.fresh) listener_.warn(found.note);
    BandwidthTable table = measure_bandwidth(machine_, isa, how);
    if (known && table.contention) {
      table.contention = newer_of(*found.table->contention, *table.contention);
    }
    store_.save_bandwidth(machine_, tuned_.machine, table);
    return table;
  }

  // Drops measurements of plans that were made for other lengths, or all of them if the user asks
  // for that. Earlier versions saved no lengths; their measurements count as those of the default
  // lengths. The plan in use stays in use until all plans are measured.
  void begin_plans(const ModelSpec& spec) {
    if (!tuned_.engine_plan.empty()) in_use_ = InUse{tuned_.phases, tuned_.threshold};
    const std::vector<uint32_t> lengths = lengths_of(cases_);
    if (tuned_.lengths.empty()) tuned_.lengths = lengths_of(cases_for(spec, {}));
    const bool others = tuned_.lengths != lengths;
    if (others && !options_.fresh && !tuned_.trials.empty()) {
      listener_.warn("plans were measured for requests of other lengths: they are measured anew");
    }
    if (others || options_.fresh) forget_trials();
    tuned_.lengths = lengths;
    tuned_.anew = false;
  }

  void forget_trials() {
    tuned_.trials.clear();
    tuned_.threshold_trials.clear();
    tuned_.joints.clear();
  }

  void forget_plans() {
    forget_trials();
    tuned_.lengths.clear();
    tuned_.phases.clear();
    tuned_.threshold.reset();
    tuned_.anew = false;
    keep_engine_plan("", &tuned_);
  }

  // Returns what is saved: the results so far, but with the costs of the plan in use.
  Tuned saved() const {
    Tuned saved = tuned_;
    if (in_use_) {
      saved.phases = in_use_->phases;
      saved.threshold = in_use_->threshold;
      saved.anew = true;
    }
    return saved;
  }

  std::string save() const { return store_.save(saved()); }

  void forget_kernels() {
    tuned_.joints.clear();
    tuned_.products.clear();
    tuned_.others.clear();
    tuned_.attend.reset();
    tuned_.steps.clear();
  }

  // Drops earlier results that do not fit here. A file by somebody else may have a plan for CPUs
  // that this machine lacks, and schedules that no kernel has.
  void drop_foreign(Isa isa, const EngineOptions& options) {
    try {
      tuned_plan(tuned_, machine_, options);
    } catch (const Error& error) {
      listener_.warn(fmt::format("earlier results on plans are discarded: {}", error.what()));
      forget_plans();
    }
    try {
      Tuned all = tuned_;
      divide_products(&all, [](const ProductShape&) { return true; });
      check_schedules(tuned_schedules(all), kernels_for(isa));
    } catch (const Error& error) {
      listener_.warn(fmt::format("earlier results on kernels are discarded: {}", error.what()));
      forget_kernels();
    }
  }

  // Measures what an earlier round had no time for. Returns the results of both rounds.
  TuningResult tune_on(Engine& engine, StepTimer& timer, const TuningResult& earlier) {
    measured_.clear();
    kernels_known_ = std::ranges::count(earlier.left, kKernelsLeft) == 0;
    TuningResult result;
    tune_all(engine, timer, &result);
    for (size_t i = 0; i < earlier.outcomes.size(); ++i) {
      TuneOutcome& outcome = result.outcomes[i];
      outcome.result.trials += earlier.outcomes[i].result.trials;
      tuned_.phases[i].trials = outcome.result.trials;
      if (!outcome.doubt.cpus) outcome.doubt.cpus = earlier.outcomes[i].doubt.cpus;
    }
    result.kernels.open.add_all(earlier.kernels.open);
    if (earlier.kernels.cpus) result.kernels.cpus = earlier.kernels.cpus;
    return result;
  }

  void tune_all(Engine& engine, StepTimer& timer, TuningResult* result) {
    // The time of this prompt gives a first estimate for all others (StepTimer::about_prompt()).
    timer.prompt(*std::ranges::min_element(cases_.prompts));
    EnginePlan best = engine.plan();
    if (options_.plans) tune_plans(engine, timer, result, &best);
    if (!options_.kernels) return;
    ScheduleTuner tuner(engine, machine_, cases_, timer, hooks(budget_), window(engine.isa()));
    const std::optional<CpuTimes> before = read_cpu_times();
    if (options_.plans && result->left.empty()) {
      tune_jointly(engine, timer, &tuner, result, &best);
    }
    if (const std::optional<EnginePlan> plan = tuned_plan(saved(), machine_, engine.options())) {
      engine.set_plan(with_all_pus(machine_, *plan));
    }
    if (!tuner.tune(&tuned_)) result->left.emplace_back(kKernelsLeft);
    result->kernels = {tuner.undecided(), cpu_shares(before, read_cpu_times())};
  }

  void tune_plans(Engine& engine, StepTimer& timer, TuningResult* result, EnginePlan* best) {
    const TimeBudget budget = budget_.part(options_.kernels && !kernels_known_ ? kPlansPart : 1);
    tune_phases(engine, timer, budget, result, best);
    const bool whole = result->left.empty();
    if (whole && tuned_.engine_plan.empty()) keep_engine_plan(kept_text(*best), &tuned_);
    save();
    const bool settled = whole && tune_threshold(engine, timer, budget, result, best);
    if (!settled) result->left.emplace_back("rows up to which steps are decode's");
    if (!whole || (in_use_ && !settled)) return;
    in_use_.reset();
    for (TuneOutcome& outcome : result->outcomes) {
      const std::vector<Plan> candidates = candidates_of(outcome, *best);
      if (candidates.size() < 2) continue;
      const std::optional<JointResult> known = known_joint(candidates, tuned_);
      if (known) take(*known, &outcome, best);
    }
    keep_engine_plan(kept_text(*best), &tuned_);
    save();
  }

  void tune_phases(Engine& engine, StepTimer& timer, const TimeBudget& all, TuningResult* result,
                   EnginePlan* best) {
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      const PlanRanking ranking = rank_plans(machine_, table_, engine.spec(), engine.plan(), phase,
                                             cases_, cores_at_work(options_.max_cores, machine_));
      TuneOutcome& outcome = result->outcomes.emplace_back(outcome_of(ranking));
      const TimeBudget part = all.part(phase == Phase::kDecode ? kDecodePart : kPrefillPart);
      PlanTuner tuner(engine, timer, hooks(part));
      bool measured = true;
      const std::optional<CpuTimes> before = read_cpu_times();
      outcome.chosen = tuner.tune(phase, ranking.search.best, kMaxTrialPairs, &tuned_, &measured);
      outcome.result = tuned_.phases.back();
      for (const TunedTrial& trial : tuned_.trials) {
        if (trial.phase == phase) outcome.doubt.open.add(trial.cost);
      }
      for (const PlanTrial& candidate : ranking.search.best) {
        const TunedTrial* trial = find_trial(tuned_, candidate.plan);
        if (trial != nullptr) measured_[phase].push_back({candidate.plan, trial->cost.ratio});
      }
      // The tuner also tries the best plan with the other GroupSync, which is not one of
      // `ranking.search.best`. If that plan was chosen, its cost is added here.
      if (outcome.chosen.sync != outcome.start.sync) {
        measured_[phase].push_back({outcome.chosen, outcome.result.cost.ratio});
      }
      if (outcome.result.trials > 0) outcome.doubt.cpus = cpu_shares(before, read_cpu_times());
      if (!measured) result->left.push_back(fmt::format("plans of {}", phase_name(phase)));
      best->of(phase) = outcome.chosen;
    }
  }

  std::vector<Plan> candidates_of(const TuneOutcome& outcome, const EnginePlan& best) {
    const Phase phase = outcome.result.phase;
    std::vector<Plan> candidates =
        joint_candidates(outcome.start, measured_[phase], options_.candidates);
    for (Plan& plan : candidates) plan.max_rows = best.of(phase).max_rows;
    return candidates;
  }

  void take(const JointResult& found, TuneOutcome* outcome, EnginePlan* best) {
    const Phase phase = outcome->result.phase;
    best->of(phase) = outcome->chosen = found.best;
    outcome->result.cost = found.cost;
    for (TunedPhase& of : tuned_.phases) {
      if (of.phase == phase) of.cost = found.cost;
    }
  }

  // Compares plans with kernels of their own, since so far they were measured with default kernels.
  // If the time is too short for one phase, the other phase is still tuned, in its own share.
  void tune_jointly(Engine& engine, StepTimer& timer, ScheduleTuner* kernels, TuningResult* result,
                    EnginePlan* best) {
    for (TuneOutcome& outcome : result->outcomes) {
      const Phase phase = outcome.result.phase;
      const std::vector<Plan> candidates = candidates_of(outcome, *best);
      if (candidates.size() < 2) continue;
      const TimeBudget part = budget_.part(phase == Phase::kDecode ? kDecodePart : kPrefillPart);
      JointTuner tuner(engine, *best, timer, *kernels, hooks(part));
      const std::optional<JointResult> found = tuner.tune(candidates, &tuned_);
      if (!found) {
        result->left.push_back(
            fmt::format("plans of {} with kernels of their own", phase_name(phase)));
        continue;
      }
      take(*found, &outcome, best);
      keep_engine_plan(kept_text(*best), &tuned_);
      save();
    }
  }

  // Tunes the threshold. Returns false if it was stopped; the plans can be used without it.
  bool tune_threshold(Engine& engine, StepTimer& timer, const TimeBudget& budget,
                      TuningResult* result, EnginePlan* best) {
    ThresholdTuner tuner(engine, cases_, timer, hooks(budget));
    if (!tuner.tune(*best, kMaxTrialPairs, &tuned_)) return false;
    TuneOutcome& decode = result->outcomes.front();
    decode.threshold = tuned_.threshold;
    decode.chosen.max_rows = best->decode.max_rows = tuned_.threshold->rows;
    return true;
  }

  // Returns the tile window that all results on this machine make, for all models.
  TileWindow window(Isa isa) const {
    TileWindow window;
    add_winners(tuned_, kernels_for(isa), &window);
    for (const TunedStore::Entry& entry : store_.list()) {
      if (!entry.tuned || entry.tuned->machine != tuned_.machine) continue;
      if (entry.tuned->model != tuned_.model) add_winners(*entry.tuned, kernels_for(isa), &window);
    }
    return window;
  }

  std::string kept_text(const EnginePlan& plan) const {
    return engine_plan_text(machine_, without_resting(plan));
  }

  TuneHooks hooks(const TimeBudget& budget) {
    TuneHooks hooks;
    hooks.stop = [this, budget](double about) {
      return watch_.interrupted() || budget.is_over(about);
    };
    hooks.max_pairs = [this](double pair_seconds) {
      return pairs_within(options_.seconds, pair_seconds);
    };
    hooks.save = [this] { save(); };
    hooks.progress = [this, budget](TuneProgress at) {
      at.max_left = budget.left();
      watch_.progress(at);
    };
    return hooks;
  }

  const TuneCases cases_;
  const Machine& machine_;
  const TunedStore& store_;
  const TuningOptions& options_;
  const TuningWatch& watch_;
  const Listener& listener_;
  TimeBudget budget_;
  BandwidthTable table_;
  Tuned tuned_;
  // The costs of the engine plan that an earlier tuning left, while plans are measured again.
  struct InUse {
    std::vector<TunedPhase> phases;
    std::optional<TunedThreshold> threshold;
  };
  std::optional<InUse> in_use_;
  bool kernels_known_ = false;                        // whether an earlier round tuned all kernels
  std::map<Phase, std::vector<PlanTrial>> measured_;  // candidates with their measured costs
};

}  // namespace

TuningResult tune_model(const OpenedModel& model, const Machine& machine, Isa isa,
                        const TunedStore& store, const TuningOptions& options,
                        const TuningWatch& watch, const Listener& listener) {
  return Tuning(model.spec, machine, store, options, watch, listener).run(model, isa);
}

std::vector<TuneOutcome> predict_tuning(const ModelSpec& spec, const Machine& machine,
                                        const BandwidthTable& table, const TuneCases& of,
                                        uint32_t max_cores) {
  const TuneCases cases = cases_for(spec, of);
  const EnginePlan plan = plan_for(machine, cases.engine_options());
  std::vector<TuneOutcome> outcomes;
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    const PlanRanking ranking =
        rank_plans(machine, table, spec, plan, phase, cases, cores_at_work(max_cores, machine));
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
