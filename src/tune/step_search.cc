#include "tune/step_search.h"

#include <algorithm>

namespace hearth {
namespace {

// Returns the place of the step's result, or the end of `steps`.
auto find_step(const StepCase& one, auto& steps) {
  return std::ranges::find_if(steps, [&](const TunedStep& step) { return one.is_of(step); });
}

bool has_found_schedules(const StepCase& one, const Tuned& tuned) {
  return std::ranges::any_of(tuned.products,
                             [&](const TunedProduct& product) { return one.has_found(product); });
}

// Returns the next step to compare; null: none is left. Those that were never timed come first,
// then those whose first comparison is the oldest.
const StepCase* next_step(const std::vector<StepCase>& all, bool confirm, const Tuned& tuned) {
  for (const StepCase& one : all) {
    if (find_step(one, tuned.steps) == tuned.steps.end()) return &one;
  }
  if (!confirm) return nullptr;
  for (const TunedStep& step : tuned.steps) {
    const auto one = std::ranges::find_if(all, [&](const StepCase& of) { return of.is_of(step); });
    if (one != all.end() && !step.confirmed) return &*one;
  }
  return nullptr;
}

}  // namespace

bool search_steps(const std::vector<StepCase>& all, bool confirm, uint32_t prompt_rows,
                  const CompareStep& compare, const std::function<void()>& save, Tuned* tuned) {
  while (const StepCase* one = next_step(all, confirm, *tuned)) {
    // reset_step() may move the results, but does not remove this step's.
    const auto known = find_step(*one, tuned->steps);
    const bool again = known != tuned->steps.end();
    TunedStep step = again ? *known : TunedStep{one->phase, one->size, {}};
    step.confirmed = true;
    if (has_found_schedules(*one, *tuned)) {
      const std::optional<StepComparison> compared = compare(*one);
      if (!compared) return false;
      step.trials += compared->pairs;
      if (compared->cost.ratio > 1) {
        step.cost = {};
        reset_step(*one, prompt_rows, tuned);
      } else {
        step.confirmed = again;
        if (!again || compared->cost.ratio > step.cost.ratio) step.cost = compared->cost;
      }
    }
    if (again) {
      *find_step(*one, tuned->steps) = step;
    } else {
      tuned->steps.push_back(step);
    }
    save();
  }
  return true;
}

}  // namespace hearth
