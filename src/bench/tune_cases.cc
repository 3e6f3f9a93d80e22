#include "bench/tune_cases.h"

#include <algorithm>

namespace hearth {

EngineOptions TuneCases::engine_options() const {
  EngineOptions options;
  const uint32_t most = *std::max_element(sequences.begin(), sequences.end());
  options.sequences = most + 1;  // a prompt beside all others
  options.outputs = std::max(options.outputs, most);
  options.prefill_rows = std::max(options.prefill_rows, most);
  // Decode steps go on from the depth.
  options.context =
      std::max({depth + 8, *std::max_element(prompts.begin(), prompts.end()), kMostThreshold});
  return options;
}

PlanWorkload TuneCases::workload(const Plan& plan) const {
  PlanWorkload work;
  if (plan.phase == Phase::kDecode) {
    for (uint32_t rows : sequences) {
      if (rows <= plan.max_rows) work.steps.push_back({rows, depth});
    }
  } else {
    for (uint32_t rows : prompts) work.steps.push_back({std::min(rows, plan.max_rows), 0});
  }
  return work;
}

}  // namespace hearth
