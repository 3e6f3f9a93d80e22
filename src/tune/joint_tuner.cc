#include "tune/joint_tuner.h"

#include <algorithm>

#include "base/fnv_hash.h"
#include "tune/engine_restored.h"
#include "tune/plan_pairs.h"

namespace hearth {
namespace {

uint64_t hash_of(const std::vector<Plan>& candidates) {
  FnvHash hash;
  for (const Plan& plan : candidates) hash.add(plan_text(plan));
  return hash.value();
}

}  // namespace

std::optional<JointResult> known_joint(const std::vector<Plan>& candidates, const Tuned& tuned) {
  const uint64_t all = hash_of(candidates);
  for (const TunedJoint& joint : tuned.joints) {
    if (joint.phase != candidates[0].phase || joint.candidates != all) continue;
    for (const Plan& plan : candidates) {
      if (plan_hash(plan) == joint.plan) return JointResult{plan, joint.cost};
    }
  }
  return std::nullopt;
}

JointTuner::JointTuner(Engine& engine, EnginePlan plan, StepTimer& timer, ScheduleTuner& kernels,
                       TuneHooks hooks)
    : engine_(engine),
      plan_(std::move(plan)),
      timer_(timer),
      kernels_(kernels),
      hooks_(std::move(hooks)) {}

ScheduleTable JointTuner::kernels_of(const Plan& plan, const Tuned& tuned) const {
  ScheduleTable table = tuned_schedules(tuned);
  const auto look = looks_.find(plan_hash(plan));
  if (look == looks_.end()) return table;
  for (const ScheduleEntry& entry : look->second.entries) {
    if (find_product(tuned.products, entry.product, entry.max_rows) == nullptr) {
      table.entries.push_back(entry);
    }
  }
  return table;
}

std::optional<TimeRatio> JointTuner::compare(const Plan& plan, const Plan& other, uint32_t most,
                                             const Tuned& tuned) {
  const uint32_t rows = plan.max_rows;
  const ScheduleTable own = kernels_of(plan, tuned), others = kernels_of(other, tuned);
  PlanPairs pairs(
      engine_, hooks_, [&] { return timer_.cases(plan.phase, rows); },
      timer_.about_cases(plan.phase, rows));
  progress_.about = most;
  const std::optional<PlanPairs::Comparison> compared = pairs.compare(
      {with_plan(plan_, other), &others}, {with_plan(plan_, plan), &own}, most, progress_);
  return compared ? std::optional(compared->cost) : std::nullopt;
}

std::optional<JointResult> JointTuner::tune(const std::vector<Plan>& candidates, Tuned* tuned) {
  if (const std::optional<JointResult> known = known_joint(candidates, *tuned)) return known;
  if (hooks_.stop(0)) return std::nullopt;
  divide_products(tuned, [](const ProductShape&) { return true; });
  const EngineRestored restored(engine_);
  const Phase phase = candidates[0].phase;
  const ScheduleTable default_schedules;
  JointWork work;
  work.look = [&](const Plan& plan) {
    engine_.set_plan(with_plan(plan_, plan), default_schedules);
    std::optional<ScheduleTable> found = kernels_.look(phase, *tuned, hooks_);
    if (found) looks_[plan_hash(plan)] = *std::move(found);
    return found.has_value();
  };
  work.search = [&](const Plan& plan) {
    engine_.set_plan(with_plan(plan_, plan), default_schedules);
    return kernels_.search(phase, tuned, hooks_);
  };
  work.compare = [&](const Plan& plan, const Plan& other, uint32_t most) {
    return compare(plan, other, most, *tuned);
  };
  std::optional<JointResult> found = search_jointly(candidates, work);
  if (found) {
    std::erase_if(tuned->joints, [&](const TunedJoint& of) { return of.phase == phase; });
    tuned->joints.push_back({phase, hash_of(candidates), plan_hash(found->best), found->cost});
    hooks_.save();
  }
  return found;
}

}  // namespace hearth
