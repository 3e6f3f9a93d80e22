#include "engine/pass_engine.h"

#include <utility>

#include "base/check.h"

namespace hearth {

PassEngine::PassEngine(ModelSpec spec, EngineOptions options, std::unique_ptr<StepRunner> runner)
    : spec_(std::move(spec)),
      options_(std::move(options)),
      runner_(std::move(runner)),
      hidden_(size_t{options_.hidden_rows} * spec_.hyper.width) {
  HEARTH_CHECK(!spec_.has_kv_cache() && !spec_.has_states(),
               "a runner keeps nothing from step to step");
  give_memory({std::make_unique<KvPool>(0, [](uint32_t, uint32_t) {})}, hidden_.data());
}

bool PassEngine::run(StepView step, const Abandon*) {
  runner_->run(step);
  return true;
}

}  // namespace hearth
