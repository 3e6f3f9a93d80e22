#include "tune/plan_tuner.h"

#include <algorithm>

#include "tune/engine_restored.h"

namespace hearth {
namespace {

Plan with_other_sync(Plan plan) {
  plan.sync = plan.sync == GroupSync::kAsync ? GroupSync::kLockstep : GroupSync::kAsync;
  return plan;
}

// Replaces the last plans of the ranking by plans whose resting threads prediction cannot judge.
// Called where no measurement tells what cores lose by working at the same time.
void add_untold(const PlanSpace& space, const PlanCost& cost, std::vector<PlanTrial>* best) {
  std::vector<PlanTrial> untold;
  for (Plan& plan : resting_plans(space)) {
    const bool known =
        std::ranges::any_of(*best, [&](const PlanTrial& trial) { return trial.plan == plan; });
    if (!known) untold.push_back({plan, cost(plan)});
  }
  const size_t keep = PlanSearchOptions{}.keep;
  untold.resize(std::min(untold.size(), keep - 1), {space.start, 1});
  best->resize(std::min(best->size(), keep - untold.size()), {space.start, 1});
  best->insert(best->end(), untold.begin(), untold.end());
  std::ranges::stable_sort(*best, {}, &PlanTrial::cost);
}

}  // namespace

const TunedTrial* find_trial(const Tuned& tuned, const Plan& plan) {
  const uint64_t hash = plan_hash(plan);
  const auto known = std::ranges::find_if(tuned.trials, [&](const TunedTrial& trial) {
    return trial.phase == plan.phase && trial.plan == hash;
  });
  return known == tuned.trials.end() ? nullptr : &*known;
}

PlanRanking rank_plans(const Machine& machine, const BandwidthTable& table, const ModelSpec& spec,
                       const EnginePlan& plan, Phase phase, const TuneCases& cases,
                       uint32_t max_cores) {
  const Plan& start = plan.of(phase);
  PlanRanking ranking{{},
                      {plan.placement, start, max_groups_on(spec, plan.shares, start), max_cores}};
  PlacedPlan placed{start, plan.placement, plan.shard_nodes, plan.shares};
  placed.experts = plan.experts;
  const PlanCost cost = predicted_cost(machine, table, spec, placed, cases.workload(start));
  ranking.search = search_plans(machine, ranking.space, cost);
  if (!table.contention || table.contention->cores == 0) {
    add_untold(ranking.space, cost, &ranking.search.best);
  }
  return ranking;
}

PlanTuner::PlanTuner(Engine& engine, StepTimer& timer, TuneHooks hooks)
    : engine_(engine), hooks_(std::move(hooks)), first_(engine.plan()), timer_(timer) {}

// Returns the plan's cost, from an earlier trial or from a new one. Returns none where the tuner
// was stopped.
std::optional<TimeRatio> PlanTuner::cost_of(const Plan& plan, uint32_t most,
                                            const TuneProgress& progress, Tuned* tuned,
                                            TunedPhase* result) {
  if (const TunedTrial* known = find_trial(*tuned, plan)) return known->cost;
  const uint32_t rows = first_.of(plan.phase).max_rows;
  if (timer_.about_cases(plan.phase, rows) == 0) {
    // The first call fills the sequences, and its time estimates how long a trial takes.
    if (hooks_.stop(timer_.about_filling())) return std::nullopt;
    timer_.cases(plan.phase, rows);
  }
  PlanPairs pairs(
      engine_, hooks_, [&] { return timer_.cases(plan.phase, rows); },
      timer_.about_cases(plan.phase, rows));
  const std::optional<PlanPairs::Comparison> measured =
      pairs.compare({first_}, {with_plan(first_, plan)}, most, progress);
  if (!measured) return std::nullopt;
  result->trials += measured->pairs;
  tuned->trials.push_back({plan.phase, plan_hash(plan), measured->cost});
  hooks_.save();
  return measured->cost;
}

Plan PlanTuner::tune(Phase phase, const std::vector<PlanTrial>& candidates, uint32_t most,
                     Tuned* tuned, bool* whole) {
  const EngineRestored restored(engine_);
  TunedPhase result{phase, true, {}, 0};
  Plan chosen = first_.of(phase);
  auto is_new = [&](const Plan& plan) {
    return plan != first_.of(phase) && find_trial(*tuned, plan) == nullptr;
  };
  const auto news = std::ranges::count_if(candidates, is_new, &PlanTrial::plan);
  // One more candidate may follow: the best plan so far with the other way of keeping groups in
  // step.
  const size_t all = candidates.size() + 1;
  TuneProgress progress{phase_name(phase), "plan", 0, static_cast<uint32_t>(news + 1), 0, most};
  *whole = true;
  for (size_t i = 0; i < all && *whole; ++i) {
    if (i + 1 == all && chosen.group_count() == 1) break;
    const Plan plan = i + 1 == all ? with_other_sync(chosen) : candidates[i].plan;
    if (plan == first_.of(phase)) continue;
    progress.best = result.cost.ratio;
    const bool measured = is_new(plan);
    const std::optional<TimeRatio> cost = cost_of(plan, most, progress, tuned, &result);
    progress.done += measured ? 1 : 0;
    *whole = cost.has_value();
    if (!cost || cost->high > PairedTrials::kWorth || cost->ratio >= result.cost.ratio) continue;
    result.cost = *cost;
    chosen = plan;
  }
  std::erase_if(tuned->phases, [&](const TunedPhase& of) { return of.phase == phase; });
  tuned->phases.push_back(result);
  return chosen;
}

}  // namespace hearth
