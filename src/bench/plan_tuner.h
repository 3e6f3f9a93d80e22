// PlanTuner: finds the plan of each phase that is fastest on this machine with this model. The cost
// model ranks all plans that tuning may choose from (tune/plan_search.h); the best of them are
// measured on the loaded engine against the plan that it came with, in turns, so that whatever
// slows the machine down slows both. A pair in which the host took CPU time away is measured again.
//
// A plan's cost is the mean over the cases of its phase of its time as a part of the default's. It
// takes the default's place where 95 % confidence says that it saves one part in a hundred or more,
// after all pairs that were allowed: whoever looks after each and stops at the first good moment is
// wrong more often. What looks bad is given up early. Each of the two is first in every other pair.
//
// Everything measured is in `Tuned` and given to `save` plan by plan: a tuner that is interrupted
// loses the plan that it was at, and the next one goes on behind it. The engine has the plan that
// it came with when tune() returns, or throws.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/step_timer.h"
#include "bench/tune_hooks.h"
#include "tune/plan_workload.h"
#include "tune/tuned_file.h"

namespace hearth {

// What the search among predicted costs found for a phase.
struct PlanRanking {
  PlanSearchResult search;
  PlanSpace space;
};
PlanRanking rank_plans(const Machine& machine, const BandwidthTable& table, const ModelSpec& spec,
                       const EnginePlan& plan, Phase phase, const TuneCases& cases);

class PlanTuner {
 public:
  // The engine was made with engine_options() of the cases.
  PlanTuner(Engine& engine, TuneCases cases, TuneHooks hooks);

  // Measures the candidates that `tuned` has no trials of, at most `most` pairs each, and adds
  // their trials and what it makes of them. Returns the plan that is best of those that were
  // measured; `*whole` says whether all were, or somebody stopped it.
  Plan tune(Phase phase, const std::vector<PlanTrial>& candidates, uint32_t most, Tuned* tuned,
            bool* whole);

 private:
  std::optional<TimeRatio> measure(Phase phase, const Plan& plan, uint32_t most,
                                   TuneProgress progress, uint32_t* trials);
  void set(Phase phase, const Plan& plan);
  std::vector<double> time_cases(Phase phase);
  double pair(Phase phase, const Plan& challenger, bool challenger_first);

  Engine& engine_;
  TuneCases cases_;
  TuneHooks hooks_;
  EnginePlan first_;
  StepTimer timer_;
};

}  // namespace hearth
