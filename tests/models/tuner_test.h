// Helpers of the tests of tuning: an engine over the tiny model, made for the tuned cases, and
// hooks that count saved results.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/engine.h"
#include "formats/gguf.h"
#include "tiny_model.h"
#include "tune/step_timer.h"
#include "tune/tune_cases.h"
#include "tune/tune_hooks.h"

namespace hearth {

class TunerTest : public testing::Test {
 protected:
  TunerTest(const TuneCases& cases, uint32_t threads,
            const std::vector<std::byte>& model = tiny_llama(TinyShape{}))
      : machine_(Machine::invented(1, threads)),
        source_(parse_gguf(model, "tiny")),
        spec_(make_spec(source_)),
        cases_(cases_for(spec_, cases)) {
    EngineOptions options = cases_.engine_options();
    options.threads = threads;
    engine_ = std::make_unique<Engine>(source_, spec_, machine_,
                                       available_isas(detect_cpu_features()).back(), options);
    timer_ = std::make_unique<StepTimer>(*engine_, cases_);
    hooks_.save = [this] { ++saved_; };
  }

  const Machine machine_;
  const ModelSource source_;
  const ModelSpec spec_;
  const TuneCases cases_;
  TuneHooks hooks_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<StepTimer> timer_;
  uint32_t saved_ = 0;
};

}  // namespace hearth
