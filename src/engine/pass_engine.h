// PassEngine: an engine of a model that keeps nothing from step to step, whose steps something else
// than cores computes (graph/step_runner.h). It has no threads, no plan and no activations of its
// own: only where the hidden states go.
#pragma once

#include <memory>
#include <vector>

#include "engine/step_engine.h"
#include "graph/step_runner.h"

namespace hearth {

class PassEngine : public StepEngine {
 public:
  // Options that are settled (settle_options()). Steps want hidden states alone, and none is
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
