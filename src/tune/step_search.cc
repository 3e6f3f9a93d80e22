#include "tune/step_search.h"

#include <algorithm>

namespace hearth {
namespace {

const TunedStep* find_step(const StepCase& one, const Tuned& tuned) {
  const auto found =
      std::ranges::find_if(tuned.steps, [&](const TunedStep& step) { return one.is_of(step); });
  return found == tuned.steps.end() ? nullptr : &*found;
}

bool has_found_schedules(const StepCase& one, const Tuned& tuned) {
  return std::ranges::any_of(tuned.products,
                             [&](const TunedProduct& product) { return one.has_found(product); });
}

// Returns the next step to compare; null: none is left. Those that were never timed come first,
// then those whose first comparison is the oldest.
const StepCase* next_step(const std::vector<StepCase>& all, bool confirm, const Tuned& tuned) {
  for (const StepCase& one : all) {
    if (find_step(one, tuned) == nullptr) return &one;
  }
  if (!confirm) return nullptr;
  for (const TunedStep& step : tuned.steps) {
    const auto one = std::ranges::find_if(all, [&](const StepCase& of) { return of.is_of(step); });
    if (one != all.end() && !step.confirmed) return &*one;
  }
  return nullptr;
}

void keep_step(const StepCase& one, const TunedStep& step, Tuned* tuned) {
  for (TunedStep& of : tuned->steps) {
    if (!one.is_of(of)) continue;
    of = step;
    return;
  }
  tuned->steps.push_back(step);
}

}  // namespace

bool search_steps(const std::vector<StepCase>& all, bool confirm, uint32_t prompt_rows,
                  const CompareStep& compare, const std::function<void()>& save, Tuned* tuned) {
  while (const StepCase* one = next_step(all, confirm, *tuned)) {
    const TunedStep* before = find_step(*one, *tuned);
    TunedStep step = before != nullptr ? *before : TunedStep{one->phase, one->size, {}};
    step.confirmed = true;
    if (has_found_schedules(*one, *tuned)) {
      const std::optional<StepComparison> compared = compare(*one);
      if (!compared) return false;
      step.trials += compared->pairs;
      if (compared->cost.ratio > 1) {
        step.cost = {};
        reset_step(*one, prompt_rows, tuned);
      } else {
        step.confirmed = before != nullptr;
        if (before == nullptr || compared->cost.ratio > step.cost.ratio) step.cost = compared->cost;
      }
    }
    keep_step(*one, step, tuned);
    save();
  }
  return true;
}

}  // namespace hearth
