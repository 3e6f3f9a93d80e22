#include "tune/plan_tuner.h"

#include <algorithm>

#include "tune/engine_restored.h"

namespace hearth {
namespace {

Plan with_other_sync(Plan plan) {
  plan.sync = plan.sync == GroupSync::kAsync ? GroupSync::kLockstep : GroupSync::kAsync;
  return plan;
}

// Where nobody measured what cores lose beside each other, what prediction cannot tell apart takes
// the place of the last of those that it ranks.
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

PlanRanking rank_plans(const Machine& machine, const BandwidthTable& table, const ModelSpec& spec,
                       const EnginePlan& plan, Phase phase, const TuneCases& cases,
                       uint32_t most_cores) {
  const Plan& start = plan.of(phase);
  PlanRanking ranking{
      {}, {plan.placement, start, most_groups_on(spec, plan.shares, start), most_cores}};
  PlacedPlan placed{start, plan.placement, plan.shard_nodes, plan.shares};
  placed.experts = plan.experts;
  const PlanCost cost = predicted_cost(machine, table, spec, placed, cases.workload(start));
  ranking.search = search_plans(machine, ranking.space, cost);
  if (!table.contention || table.contention->cores == 0) {
    add_untold(ranking.space, cost, &ranking.search.best);
  }
  return ranking;
}

PlanTuner::PlanTuner(Engine& engine, TuneCases cases, TuneHooks hooks)
    : engine_(engine),
      cases_(std::move(cases)),
      hooks_(std::move(hooks)),
      first_(engine.plan()),
      timer_(engine, cases_) {}

// The other phase keeps its plan.
EnginePlan PlanTuner::with(Phase phase, const Plan& plan) const {
  EnginePlan whole = first_;
  whole.of(phase) = plan;
  return whole;
}

std::vector<double> PlanTuner::time_cases(Phase phase) {
  std::vector<double> seconds;
  if (phase == Phase::kPrefill) {
    // Wakes threads up and touches the memory of a new plan.
    timer_.prompt(*std::max_element(cases_.prompts.begin(), cases_.prompts.end()));
    for (uint32_t prompt : cases_.prompts) seconds.push_back(timer_.prompt(prompt));
  } else {
    for (uint32_t sequences : cases_.sequences) {
      if (sequences <= first_.of(phase).max_rows) seconds.push_back(timer_.decode(sequences));
    }
  }
  return seconds;
}

// As it is known, or measured now; none where somebody stopped.
std::optional<TimeRatio> PlanTuner::cost_of(const Plan& plan, uint32_t most,
                                            const TuneProgress& progress, Tuned* tuned,
                                            TunedPhase* result) {
  const uint64_t hash = plan_hash(plan);
  for (const TunedTrial& known : tuned->trials) {
    if (known.phase == plan.phase && known.plan == hash) return known.cost;
  }
  PlanPairs pairs(engine_, hooks_, [&] { return time_cases(plan.phase); });
  const std::optional<PlanPairs::Comparison> measured =
      pairs.compare(first_, with(plan.phase, plan), most, progress);
  if (!measured) return std::nullopt;
  result->trials += measured->pairs;
  tuned->trials.push_back({plan.phase, hash, measured->cost});
  hooks_.save();
  return measured->cost;
}

Plan PlanTuner::tune(Phase phase, const std::vector<PlanTrial>& candidates, uint32_t most,
                     Tuned* tuned, bool* whole) {
  const EngineRestored restored(engine_);
  TunedPhase result{phase, true, {}, 0};
  Plan chosen = first_.of(phase);
  // The last is the other sync of what was chosen of the others.
  const auto all = static_cast<uint32_t>(candidates.size()) + 1;
  *whole = true;
  for (uint32_t i = 0; i < all && *whole; ++i) {
    if (i + 1 == all && chosen.group_count() == 1) break;
    const Plan plan = i + 1 == all ? with_other_sync(chosen) : candidates[i].plan;
    if (plan == first_.of(phase)) continue;
    const std::optional<TimeRatio> cost =
        cost_of(plan, most, {phase_name(phase), "plan", i, all, 0, most, result.cost.ratio}, tuned,
                &result);
    *whole = cost.has_value();
    if (!cost || cost->high > PlanPairs::kWorth || cost->ratio >= result.cost.ratio) continue;
    result.cost = *cost;
    chosen = plan;
  }
  std::erase_if(tuned->phases, [&](const TunedPhase& of) { return of.phase == phase; });
  tuned->phases.push_back(result);
  return chosen;
}

}  // namespace hearth
