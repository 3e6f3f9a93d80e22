// TuneCases: the steps that a model is tuned for. Decode: a step of so many sequences, each `depth`
// long. Prefill: prompts of these lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/engine_options.h"
#include "tune/plan_workload.h"

namespace hearth {

struct TuneCases {
  std::vector<uint32_t> sequences{1, 4, 16};
  uint32_t depth = 256;
  std::vector<uint32_t> prompts{64, 512};

  // The engine's options that they need.
  EngineOptions engine_options() const;
  PlanWorkload workload(const Plan& plan) const;
};

}  // namespace hearth
