// Computes the steps of an engine without a lane (engine/pass_engine.h) on something else than
// cores.
#pragma once

#include "graph/step_view.h"

namespace hearth {

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // Fills step.hidden; the step wants no logits. Throws Error where it cannot.
  virtual void run(const StepView& step) = 0;
};

}  // namespace hearth
