// JointTuner: searches for a phase's plan and its kernels together (tune/joint_search.h) on a
// loaded engine. `tuned` gets the products of every plan whose kernels are searched, so it holds
// products of several plans. They do not collide, since a product's shape says how many threads
// share it. ScheduleTuner::tune() later separates the winning plan's products from the others. The
// search for one plan starts from the schedules that were found for the plan before
// (ScheduleTuner).
//
// When tune() returns or throws, the engine has the plan and schedules that it had before.
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

// Returns the result that `tuned` has for the same candidates, or none.
std::optional<JointResult> known_joint(const std::vector<Plan>& candidates, const Tuned& tuned);

class JointTuner {
 public:
  // `timer` and `kernels` must work on `engine`. `plan` has the plan of the other phase. `hooks`
  // also stop the searches of `kernels`.
  JointTuner(Engine& engine, EnginePlan plan, StepTimer& timer, ScheduleTuner& kernels,
             TuneHooks hooks);

  // Tunes candidates of one phase (joint_candidates()). Adds to `tuned` the products that were
  // searched and the result, which known_joint() then finds. Returns none where the tuning was
  // stopped.
  std::optional<JointResult> tune(const std::vector<Plan>& candidates, Tuned* tuned);

 private:
  // Returns the schedules found so far for the kernels under this plan.
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
