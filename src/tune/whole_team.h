// The plan of the engine that tuning works on. Its team has a thread on every PU that the process
// may use, on first and second hyper-threads. So a thread can work in one candidate and rest in
// another. A resting thread sleeps, and costs nothing.
#pragma once

#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

// Returns the same plan with one more thread, which rests, on each other PU of the nodes that have
// threads. The order of the threads depends only on which thread works for which shard.
EnginePlan with_all_pus(const Machine& machine, const EnginePlan& plan);

// Returns the same plan without the threads that rest in both phases. A node that would lose all
// its threads keeps one.
EnginePlan without_resting(const EnginePlan& plan);

}  // namespace hearth
