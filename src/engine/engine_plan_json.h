// An engine's plan as JSON: which thread sits where, works in which group on which shards, and
// where those lie. Numbers of nodes and PUs are the operating system's.
#pragma once

#include "base/json.h"
#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

// Writes the key `plan` and its value into the object that `json` is in.
void json_plan(Json& json, const Machine& machine, const EnginePlan& plan);

}  // namespace hearth
