// TuneCases: the steps for which a model is tuned. In decode, a step has so many sequences, each of
// them `depth` positions long. In prefill, prompts have these lengths. For an encoder
// (cases_for()), texts of so many tokens replace both: short texts, which the decode plan computes,
// and longer ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/engine_options.h"
#include "models/model_spec.h"
#include "tune/plan_workload.h"

namespace hearth {

// The largest threshold that tuning tries: steps of up to so many rows use the decode plan.
inline constexpr uint32_t kMaxThreshold = 64;

struct TuneCases {
  std::vector<uint32_t> sequences{1, 4, 16};
  uint32_t depth = 256;
  std::vector<uint32_t> prompts{64, 512};
  uint32_t max_threshold = kMaxThreshold;

  // Returns the options of an engine that can run the cases, and prompts of `max_threshold` tokens.
  EngineOptions engine_options() const;
  PlanWorkload workload(const Plan& plan) const;
};

// Returns the cases, changed to suit this model. An encoder has no sequences, and takes a text in
// one step.
TuneCases cases_for(const ModelSpec& spec, TuneCases cases);

// Returns the cases for a trace: a CSV of "prompt,output" lines in tokens, with or without a head
// line. The prompts have the lengths of the quartiles of the trace's prompts. The depth of decode
// is the median prompt plus half of the median output. All of these are limited, so that trials
// stay short. Throws (kUsage), with the line, if the text is not such a CSV.
TuneCases cases_of_trace(std::string_view csv);

}  // namespace hearth
