#include "tune/step_cases.h"

#include <algorithm>

namespace hearth {

bool StepCase::has(const ScheduleEntry& entry) const {
  return std::ranges::count(product_rows(entry.product, rows), entry.most_rows) > 0;
}

std::vector<StepCase> step_cases(const TuneCases& cases, const EnginePlan& plan) {
  std::vector<StepCase> all;
  for (uint32_t sequences : cases.sequences) {
    all.push_back({Phase::kDecode, sequences, sequences});
  }
  for (uint32_t prompt : cases.prompts) {
    all.push_back({Phase::kPrefill, prompt, std::min(prompt, plan.prefill.max_rows)});
  }
  return all;
}

bool reset_step(const std::vector<StepCase>& all, const StepCase& one, Tuned* tuned) {
  std::vector<const StepCase*> again;
  for (TunedProduct& product : tuned->products) {
    if (product.entry.schedule.is_default() || !one.has(product.entry)) continue;
    for (const StepCase& other : all) {
      if (&other != &one && other.has(product.entry)) again.push_back(&other);
    }
    product.entry.schedule = {};
    product.cost = {};
  }
  const size_t erased = std::erase_if(tuned->steps, [&](const TunedStep& step) {
    return std::ranges::any_of(again, [&](const StepCase* other) { return other->is_of(step); });
  });
  return erased > 0;
}

}  // namespace hearth
