// TuneCases: the steps that a model is tuned for. Decode: a step of so many sequences, each `depth`
// long. Prefill: prompts of these lengths. Of an encoder (cases_for()) texts of so many tokens take
// the place of both: short ones, whose steps decode's plan works on, and longer ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/engine_options.h"
#include "models/model_spec.h"
#include "tune/plan_workload.h"

namespace hearth {

// The largest number of rows up to which a step may be decode's that tuning tries.
inline constexpr uint32_t kMostThreshold = 64;

struct TuneCases {
  std::vector<uint32_t> sequences{1, 4, 16};
  uint32_t depth = 256;
  std::vector<uint32_t> prompts{64, 512};
  uint32_t most_threshold = kMostThreshold;

  // The engine's options that they need, and prompts of up to `most_threshold` tokens.
  EngineOptions engine_options() const;
  PlanWorkload workload(const Plan& plan) const;
};

// The cases as they are for this model: an encoder has no sequences, and takes a text in one step.
TuneCases cases_for(const ModelSpec& spec, TuneCases cases);

// Cases for the lengths in a CSV of "prompt,output" lines, tokens each, below a head line or none:
// prompts as long as the quartiles of the trace's, and decode behind half of what a request is at
// the median, up to lengths that are soon tried. Throws (kUsage), with the line, for what is none.
TuneCases cases_of_trace(std::string_view csv);

}  // namespace hearth
