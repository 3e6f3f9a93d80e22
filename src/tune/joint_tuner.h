// JointTuner: searches for a phase's plan and its kernels together (tune/joint_search.h) on a
// loaded engine. Of every plan that gets a whole search the products are kept in `tuned`, which has
// those of several plans then: a product's shape says how many threads share it.
// ScheduleTuner::tune() sets those of the plan that won apart. What one plan's
// searches ended with starts those of the next (ScheduleTuner).
//
// The engine has the plan and schedules that it came with when tune() returns, or throws.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/joint_search.h"
#include "tune/schedule_tuner.h"
#include "tune/step_timer.h"
#include "tune/tune_hooks.h"

namespace hearth {

// Returns the result of an earlier tuning of these candidates; none where there was none.
std::optional<JointResult> known_joint(const std::vector<Plan>& candidates, const Tuned& tuned);

class JointTuner {
 public:
  // `timer` and `kernels` are the engine's. `plan`: that of the other phase is kept. By `hooks` the
  // searches of `kernels` are stopped here, too.
  JointTuner(Engine& engine, EnginePlan plan, StepTimer& timer, ScheduleTuner& kernels,
             TuneHooks hooks);

  // Tunes candidates of one phase (joint_candidates()). Adds the products that it searched for, and
  // the result, which a tuning of the same candidates finds there. None where somebody stopped it.
  std::optional<JointResult> tune(const std::vector<Plan>& candidates, Tuned* tuned);

 private:
  // Returns the schedules that are known for the plan's kernels.
  ScheduleTable kernels_of(const Plan& plan, const Tuned& tuned) const;
  std::optional<TimeRatio> compare(const Plan& plan, const Plan& other, uint32_t most,
                                   const Tuned& tuned);

  Engine& engine_;
  EnginePlan plan_;
  StepTimer& timer_;
  ScheduleTuner& kernels_;
  TuneHooks hooks_;
  std::map<uint64_t, ScheduleTable> looks_;  // by the plan's hash
  TuneProgress progress_{"plans with their kernels", "trial", 0, 1, 0, 1};
};

}  // namespace hearth
