// EngineRestored: remembers the engine's plan and schedules, and gives them back to the engine at
// the end of the scope.
#pragma once

#include "base/error.h"
#include "engine/engine.h"

namespace hearth {

class EngineRestored {
 public:
  explicit EngineRestored(Engine& engine)
      : engine_(engine), plan_(engine.plan()), schedules_(engine.options().schedules) {}
  ~EngineRestored() {
    try {
      engine_.set_plan(plan_, schedules_);
    } catch (const Error&) {  // memory is short; any plan gives the same bits
    }
  }
  EngineRestored(const EngineRestored&) = delete;
  EngineRestored& operator=(const EngineRestored&) = delete;

 private:
  Engine& engine_;
  EnginePlan plan_;
  ScheduleTable schedules_;
};

}  // namespace hearth
