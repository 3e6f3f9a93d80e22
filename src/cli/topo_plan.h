// Prints a plan for `hearth topo`: where each thread sits, its group and shards, and on which nodes
// shards lie.
#pragma once

#include <string>

#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

std::string plan_tree_text(const Machine& machine, const EnginePlan& plan);

}  // namespace hearth
