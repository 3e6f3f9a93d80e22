// The plan for `hearth topo`: which thread sits where, works in which group on which shards, and
// where those lie. For people, and as keys of a JSON object.
#pragma once

#include <string>

#include "cli/json.h"
#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

// What the user asked of the plan; 0: the default.
struct PlanArgs {
  uint32_t threads = 0;  // one per core that may be used
  uint32_t shards = 0;   // one for every node that has threads
  uint32_t groups = 0;   // in both phases; as many as shards
};

// The plan that an engine with these options makes on `machine`. Throws (kUsage) for what cannot
// be.
EnginePlan plan_for(const Machine& machine, const PlanArgs& args);

std::string plan_tree_text(const Machine& machine, const EnginePlan& plan);
void json_plan(Json& json, const Machine& machine, const EnginePlan& plan);

}  // namespace hearth
