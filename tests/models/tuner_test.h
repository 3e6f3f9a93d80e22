// What tests of tuning share: an engine over the tiny model, made for the cases that are tuned for,
// and hooks that count what is saved.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/engine.h"
#include "formats/gguf.h"
#include "tiny_model.h"
#include "tune/tune_cases.h"
#include "tune/tune_hooks.h"

namespace hearth {

class TunerTest : public testing::Test {
 protected:
  TunerTest(TuneCases cases, uint32_t threads)
      : machine_(Machine::invented(1, threads)), cases_(std::move(cases)) {
    EngineOptions options = cases_.engine_options();
    options.threads = threads;
    const ModelSource source = parse_gguf(tiny_llama(TinyShape{}), "tiny");
    engine_ = std::make_unique<Engine>(source, make_spec(source), machine_,
                                       available_isas(detect_cpu_features()).back(), options);
    hooks_.save = [this] { ++saved_; };
  }

  const Machine machine_;
  const TuneCases cases_;
  TuneHooks hooks_;
  std::unique_ptr<Engine> engine_;
  uint32_t saved_ = 0;
};

}  // namespace hearth
