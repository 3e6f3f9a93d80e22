// A StepRunner computes steps on another processor than the cores, for an engine without a lane
// (engine/pass_engine.h).
#pragma once

#include "graph/step_view.h"

namespace hearth {

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // Fills step.hidden; the step must want no logits. Throws Error on failure.
  virtual void run(const StepView& step) = 0;
};

}  // namespace hearth
