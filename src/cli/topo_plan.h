// The plan for `hearth topo`: which thread sits where, works in which group on which shards, and
// where those lie. For people, and as keys of a JSON object.
#pragma once

#include <string>

#include "engine/engine_plan.h"
#include "text/json.h"
#include "topology/machine.h"

namespace hearth {

std::string plan_tree_text(const Machine& machine, const EnginePlan& plan);
void json_plan(Json& json, const Machine& machine, const EnginePlan& plan);

}  // namespace hearth
