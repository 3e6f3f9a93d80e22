// PassEngine: an engine of a model that keeps nothing from step to step, whose steps a StepRunner
// computes elsewhere than on cores (graph/step_runner.h). It has no threads, no plan and no
// activations of its own, only memory for the hidden states.
#pragma once

#include <memory>
#include <vector>

#include "engine/step_engine.h"
#include "graph/step_runner.h"

namespace hearth {

class PassEngine : public StepEngine {
 public:
  // `options` must be settled (settle_options()). Steps may want only hidden states, and are never
  // abandoned.
  PassEngine(ModelSpec spec, EngineOptions options, std::unique_ptr<StepRunner> runner);

  const ModelSpec& spec() const override { return spec_; }
  const EngineOptions& options() const override { return options_; }

 private:
  bool run(StepView step, const Abandon* abandon) override;

  ModelSpec spec_;
  EngineOptions options_;
  std::unique_ptr<StepRunner> runner_;
  std::vector<float> hidden_;
};

}  // namespace hearth
