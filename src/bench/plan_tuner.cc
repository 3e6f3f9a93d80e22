#include "bench/plan_tuner.h"

#include <algorithm>

#include "base/error.h"
#include "bench/cpu_times.h"
#include "tune/paired_trials.h"

namespace hearth {
namespace {

// A plan must save so much before the default falls.
constexpr double kWorth = 1 - PairedTrials::kLeastGain;
constexpr uint32_t kLeastPairs = 3;
// A pair during which the host took time away is measured so many times at most.
constexpr int kMostRepeats = 4;

}  // namespace

PlanRanking rank_plans(const Machine& machine, const BandwidthTable& table, const ModelSpec& spec,
                       const EnginePlan& plan, Phase phase, const TuneCases& cases) {
  const Plan& start = plan.of(phase);
  PlanRanking ranking{{}, {plan.placement, start, most_groups_on(spec, plan.shares, start)}};
  PlacedPlan placed{start, plan.placement, plan.shard_nodes, plan.shares};
  placed.experts = plan.experts;
  ranking.search = search_plans(
      machine, ranking.space, predicted_cost(machine, table, spec, placed, cases.workload(start)));
  return ranking;
}

PlanTuner::PlanTuner(Engine& engine, TuneCases cases, TuneHooks hooks)
    : engine_(engine),
      cases_(std::move(cases)),
      hooks_(std::move(hooks)),
      first_(engine.plan()),
      timer_(engine, cases_) {}

// The other phase keeps its plan.
void PlanTuner::set(Phase phase, const Plan& plan) {
  EnginePlan whole = first_;
  whole.of(phase) = plan;
  engine_.set_plan(whole);
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

// The challenger's cost in one pair.
double PlanTuner::pair(Phase phase, const Plan& challenger, bool challenger_first) {
  auto time = [&](const Plan& plan) {
    set(phase, plan);
    return time_cases(phase);
  };
  for (int repeat = 1;; ++repeat) {
    const uint64_t before = stolen_ticks();
    std::vector<double> one, other;
    if (challenger_first) one = time(challenger);
    other = time(first_.of(phase));
    if (!challenger_first) one = time(challenger);
    if (stolen_ticks() != before && repeat < kMostRepeats) continue;
    double sum = 0;
    for (size_t i = 0; i < one.size(); ++i) sum += one[i] / other[i];
    return sum / static_cast<double>(one.size());
  }
}

// All pairs, but of what is worse for certain, or after half of them no better than it must be;
// nothing where somebody stopped.
std::optional<TimeRatio> PlanTuner::measure(Phase phase, const Plan& plan, uint32_t most,
                                            TuneProgress progress, uint32_t* trials) {
  PairedTrials pairs(most);
  for (;;) {
    if (hooks_.stop()) return std::nullopt;
    pairs.add(1, pair(phase, plan, pairs.pairs() % 2 == 0));
    ++*trials;
    progress.trials = pairs.pairs();
    hooks_.progress(progress);
    const TimeRatio cost = pairs.ratio();
    const bool hopeless = cost.low > kWorth || (2 * pairs.pairs() >= most && cost.ratio > kWorth);
    if (pairs.pairs() >= most || (pairs.pairs() >= kLeastPairs && hopeless)) return cost;
  }
}

Plan PlanTuner::tune(Phase phase, const std::vector<PlanTrial>& candidates, uint32_t most,
                     Tuned* tuned, bool* whole) {
  // Whatever happens, the engine goes on under its own plan.
  struct Restore {
    Engine& engine;
    const EnginePlan& plan;
    ~Restore() {
      try {
        engine.set_plan(plan);
      } catch (const Error&) {  // memory is short: another plan gives the same results
      }
    }
  } restore{engine_, first_};
  TunedPhase result{phase, true, {}, 0};
  Plan chosen = first_.of(phase);
  *whole = true;
  const auto all = static_cast<uint32_t>(candidates.size());
  for (uint32_t i = 0; i < all && *whole; ++i) {
    const Plan& plan = candidates[i].plan;
    if (plan.groups == first_.of(phase).groups) continue;
    const uint64_t hash = plan_hash(plan);
    auto known = std::find_if(
        tuned->trials.begin(), tuned->trials.end(),
        [&](const TunedTrial& trial) { return trial.phase == phase && trial.plan == hash; });
    TimeRatio cost;
    if (known != tuned->trials.end()) {
      cost = known->cost;
    } else if (std::optional<TimeRatio> measured =
                   measure(phase, plan, most,
                           {phase_name(phase), "plan", i, all, 0, most, result.cost.ratio},
                           &result.trials)) {
      cost = *measured;
      tuned->trials.push_back({phase, hash, cost});
      hooks_.save();
    } else {
      *whole = false;
    }
    if (cost.high > kWorth || cost.ratio >= result.cost.ratio) continue;
    result.cost = cost;
    chosen = plan;
  }
  std::erase_if(tuned->phases, [&](const TunedPhase& of) { return of.phase == phase; });
  tuned->phases.push_back(result);
  return chosen;
}

}  // namespace hearth
