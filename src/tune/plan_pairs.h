// PlanPairs: how long steps take under one plan of a loaded engine, as a part of what they take
// under another, by trials of both in turns. Each of the two is first in every other pair, and a
// pair in which the host took CPU time away is measured again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/paired_trials.h"
#include "engine/engine.h"
#include "tune/tune_hooks.h"

namespace hearth {

// Whether so many pairs of trials, of `most` at most, are enough to know that a plan of this cost
// is worse than it must be, or better: after 3 or more for certain that it saves less than
// kLeastGain, after half of them that on average it does, after 8, 16, 32 ... (PairedTrials) for
// certain that it saves as much.
bool enough_pairs(const TimeRatio& cost, uint32_t pairs, uint32_t most);
// Returns about how many pairs will be enough, where average and scatter stay as they are.
uint32_t likely_pairs(const TimeRatio& cost, uint32_t pairs, uint32_t most);

// The plan and the schedules that an engine runs by; without schedules it keeps those that it has.
struct EngineWay {
  EnginePlan plan;
  const ScheduleTable* schedules = nullptr;
};

// A plan of the whole engine with this one for its phase.
inline EnginePlan with_plan(EnginePlan whole, const Plan& plan) {
  whole.of(plan.phase) = plan;
  return whole;
}

class PlanPairs {
 public:
  // `time` gives the seconds of all cases under the engine's plan, and takes about `about` seconds
  // the first time, as far as anybody knows. References are used while it lives.
  using Times = std::function<std::vector<double>()>;
  PlanPairs(Engine& engine, const TuneHooks& hooks, Times time, double about = 0);

  struct Comparison {
    TimeRatio cost;  // the mean over all cases of the challenger's time as a part of the other's
    double dearest = 1;  // of the case that fares worst
    uint32_t pairs = 0;
  };
  // Compares by as many pairs as are enough; none where somebody stopped. `progress` is told with
  // the pairs made. The engine is left working by one of the two.
  std::optional<Comparison> compare(const EngineWay& incumbent, const EngineWay& challenger,
                                    uint32_t most, TuneProgress progress);

 private:
  std::vector<double> pair(const EngineWay& incumbent, const EngineWay& challenger,
                           bool challenger_first);

  Engine& engine_;
  const TuneHooks& hooks_;
  Times time_;
  double longest_;  // seconds of a pair
};

}  // namespace hearth
