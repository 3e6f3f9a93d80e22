#include "tune/step_cases.h"

#include <algorithm>

namespace hearth {

bool StepCase::has(const ScheduleEntry& entry) const {
  return std::ranges::count(product_rows(entry.product, rows), entry.max_rows) > 0;
}

StepCase step_case(Phase phase, uint32_t size, uint32_t prompt_rows) {
  return {phase, size, phase == Phase::kPrefill ? std::min(size, prompt_rows) : size};
}

std::vector<StepCase> step_cases(const TuneCases& cases, const EnginePlan& plan) {
  const uint32_t prompt_rows = plan.prefill.max_rows;
  std::vector<StepCase> all;
  for (uint32_t sequences : cases.sequences) {
    all.push_back(step_case(Phase::kDecode, sequences, prompt_rows));
  }
  for (uint32_t prompt : cases.prompts) {
    all.push_back(step_case(Phase::kPrefill, prompt, prompt_rows));
  }
  return all;
}

void reset_step(const StepCase& one, uint32_t prompt_rows, Tuned* tuned) {
  std::vector<ScheduleEntry> reset;
  for (TunedProduct& product : tuned->products) {
    if (!one.has_found(product)) continue;
    reset.push_back(product.entry);
    product.entry.schedule = {};
    product.cost = {};
  }
  std::erase_if(tuned->steps, [&](const TunedStep& step) {
    const StepCase other = step_case(step.phase, step.size, prompt_rows);
    return !one.is_of(step) &&
           std::ranges::any_of(reset, [&](const ScheduleEntry& entry) { return other.has(entry); });
  });
}

}  // namespace hearth
