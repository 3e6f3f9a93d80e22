// StepTimer: how long steps take on a loaded engine, under the plan and schedules that it has at
// the moment. Its sequences are filled when the first step of as many is timed, and cut back after
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "tune/tune_cases.h"

namespace hearth {

class StepTimer {
 public:
  // The engine was made with engine_options() of the cases, and outlives it.
  StepTimer(Engine& engine, const TuneCases& cases);

  // Returns the seconds of some decode steps of so many of the cases' sequences, after one that is
  // not timed.
  double decode(uint32_t sequences);
  // Of a prompt of so many tokens, up to the longest of the cases, or kMostThreshold.
  double prompt(uint32_t tokens);

 private:
  Engine& engine_;
  uint32_t depth_;
  std::vector<int32_t> tokens_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // all `depth_` long between trials
};

}  // namespace hearth
