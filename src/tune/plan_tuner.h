// PlanTuner: finds the plan of each phase that is fastest on this machine with this model. The cost
// model ranks all plans that tuning may choose from (tune/plan_search.h). The best of them are
// measured on the loaded engine, in turns with the engine's own plan (tune/plan_pairs.h).
//
// The cost of a plan is the mean, over the cases of its phase, of its time as a part of the default
// plan's. A plan takes the default's place where 95 % confidence says that it saves one part in a
// hundred or more. That is looked at after 8 pairs, 16, or all that were allowed: looking after
// each pair and stopping at the first good moment errs more often. A plan that looks bad is given
// up early (tune/plan_pairs.h). If the best plan then has several groups, one more candidate is
// tried: the same plan with the other way in which groups may keep in step (GroupSync).
//
// Every measurement is added to `Tuned`, and `save` is called plan by plan. An interrupted tuner
// loses only the plan that it was measuring, and the next tuner goes on behind it. When tune()
// returns or throws, the engine has the plan that it had before.
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

// The result of the search by predicted costs for a phase. At most `max_cores` cores may work at a
// time. `plan` must have a thread on every allowed PU (tune/whole_team.h).
struct PlanRanking {
  PlanSearchResult search;
  PlanSpace space;
};
PlanRanking rank_plans(const Machine& machine, const BandwidthTable& table, const ModelSpec& spec,
                       const EnginePlan& plan, Phase phase, const TuneCases& cases,
                       uint32_t max_cores);

const TunedTrial* find_trial(const Tuned& tuned, const Plan& plan);

class PlanTuner {
 public:
  PlanTuner(Engine& engine, StepTimer& timer, TuneHooks hooks);

  // Measures the candidates that have no trials in `tuned`, by at most `most` pairs each. Adds to
  // `tuned` their trials and the result for the chosen plan. Returns the best of the measured
  // plans. Sets `*whole` to false where the tuner was stopped before it had measured all.
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
