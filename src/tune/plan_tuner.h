// PlanTuner: finds the plan of each phase that is fastest on this machine with this model. The cost
// model ranks all plans that tuning may choose from (tune/plan_search.h); the best of them are
// measured on the loaded engine against the plan that it came with, in turns (tune/plan_pairs.h).
//
// A plan's cost is the mean over the cases of its phase of its time as a part of the default's. It
// takes the default's place where 95 % confidence says that it saves one part in a hundred or more,
// after 8 pairs, 16, or all that were allowed: whoever looks after each and stops at the first good
// moment is wrong more often. What looks bad is given up early (tune/plan_pairs.h). Where the plan
// that is best then has several groups, the other way in which they may keep in step (GroupSync) is
// one candidate more.
//
// Everything measured is in `Tuned` and given to `save` plan by plan: a tuner that is interrupted
// loses the plan that it was at, and the next one goes on behind it. The engine has the plan that
// it came with when tune() returns, or throws.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/plan_pairs.h"
#include "tune/plan_workload.h"
#include "tune/step_timer.h"
#include "tune/tune_hooks.h"

namespace hearth {

// The result of the search among predicted costs for a phase. `most_cores` may be at work at a
// time, and `plan` has a thread on every PU that may be (tune/whole_team.h).
struct PlanRanking {
  PlanSearchResult search;
  PlanSpace space;
};
PlanRanking rank_plans(const Machine& machine, const BandwidthTable& table, const ModelSpec& spec,
                       const EnginePlan& plan, Phase phase, const TuneCases& cases,
                       uint32_t most_cores);

// Returns the measurement of a plan, or null.
const TunedTrial* find_trial(const Tuned& tuned, const Plan& plan);

class PlanTuner {
 public:
  // `timer` is the engine's.
  PlanTuner(Engine& engine, StepTimer& timer, TuneHooks hooks);

  // Measures the candidates that `tuned` has no trials of, at most `most` pairs each, and adds
  // their trials and what it makes of them. Returns the plan that is best of those that were
  // measured; `*whole` says whether all were, or somebody stopped it.
  Plan tune(Phase phase, const std::vector<PlanTrial>& candidates, uint32_t most, Tuned* tuned,
            bool* whole);

 private:
  std::optional<TimeRatio> cost_of(const Plan& plan, uint32_t most, const TuneProgress& progress,
                                   Tuned* tuned, TunedPhase* result);

  Engine& engine_;
  TuneHooks hooks_;
  EnginePlan first_;
  StepTimer& timer_;
};

}  // namespace hearth
