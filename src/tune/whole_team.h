// The plan of an engine that tuning works on: its team has a thread on every PU that the process
// may use, first and second hyper-threads, so that each can be at work in one candidate and rest in
// another. Whoever rests sleeps, and costs nothing.
#pragma once

#include "engine/engine_plan.h"
#include "topology/machine.h"

namespace hearth {

// The same plan with a thread on all other PUs of the nodes that it has threads on; these rest. The
// order of the threads depends on no plan but on who works for which shard.
EnginePlan with_all_pus(const Machine& machine, const EnginePlan& plan);

// The same plan without the threads that rest in every phase, but for one of a node that would
// have none.
EnginePlan without_resting(const EnginePlan& plan);

}  // namespace hearth
