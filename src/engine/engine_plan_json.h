// Writes an engine's plan as JSON: the PU, group and shards of each thread, and the nodes of the
// shards. Numbers of nodes and PUs are the operating system's.
#pragma once

#include "base/json.h"
#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

// Writes the key `plan` and its value into the object that `json` is in.
void json_plan(Json& json, const Machine& machine, const EnginePlan& plan);

}  // namespace hearth
