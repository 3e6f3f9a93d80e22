// PlanPairs: measures the time of steps under one plan of a loaded engine, as a part of their time
// under another plan. A pair is a trial of each; each of the two plans is first in every other
// pair. A disturbed pair is made again, at most three times: the host took CPU time away.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/paired_trials.h"
#include "engine/engine.h"
#include "tune/tune_hooks.h"

namespace hearth {

// The most pairs of trials that decide about a plan, a schedule of attention or a whole step.
inline constexpr uint32_t kMaxTrialPairs = 20;
// Returns how many pairs of `pair_seconds` may decide about a plan if tuning takes `seconds` in
// all: those that take a twentieth of that time, at least PairedTrials::kMinPairs, at most
// kMaxTrialPairs.
uint32_t pairs_within(double seconds, double pair_seconds);

// Whether `pairs` pairs of trials, of at most `most`, are enough to decide whether a plan saves
// kMinGain. They are:
//   - from 3 pairs on, if the plan saves less than that at 95 % confidence;
//   - from half of `most` on, if the plan saves less than that on average;
//   - after 8, 16, 32 ... pairs (PairedTrials), if the plan saves as much at 95 % confidence.
bool enough_pairs(const TimeRatio& cost, uint32_t pairs, uint32_t most);
// Estimates how many pairs will be enough, if their average and scatter stay as they are.
uint32_t likely_pairs(const TimeRatio& cost, uint32_t pairs, uint32_t most);

// The plan and the schedules with which an engine runs. Without schedules it keeps those that it
// has.
struct EngineWay {
  EnginePlan plan;
  const ScheduleTable* schedules = nullptr;
};

// Returns `whole` with `plan` in place of the plan of the same phase.
inline EnginePlan with_plan(EnginePlan whole, const Plan& plan) {
  whole.of(plan.phase) = plan;
  return whole;
}

class PlanPairs {
 public:
  // `time` returns the seconds of every case under the engine's present plan. `about` estimates the
  // seconds of its first call; 0: not known. `engine` and `hooks` must outlive this object.
  using Times = std::function<std::vector<double>()>;
  PlanPairs(Engine& engine, const TuneHooks& hooks, Times time, double about = 0);

  struct Comparison {
    TimeRatio cost;      // challenger's over incumbent's time, the mean over all cases
    double dearest = 1;  // the highest cost of a case
    uint32_t pairs = 0;
  };
  // Runs pairs until enough_pairs() says so, at most `most`. Returns none where the comparison was
  // stopped. Reports each pair by `progress`. Afterwards the engine has the plan of one of the two.
  std::optional<Comparison> compare(const EngineWay& incumbent, const EngineWay& challenger,
                                    uint32_t most, TuneProgress progress);

 private:
  std::vector<double> pair(const EngineWay& incumbent, const EngineWay& challenger,
                           bool challenger_first);

  Engine& engine_;
  const TuneHooks& hooks_;
  Times time_;
  double longest_;  // seconds of the longest pair so far
};

}  // namespace hearth
