// The plan for `hearth topo`, for people: which thread sits where, works in which group on which
// shards, and where those lie.
#pragma once

#include <string>

#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

std::string plan_tree_text(const Machine& machine, const EnginePlan& plan);

}  // namespace hearth
