// What an engine settles before it touches memory: its options made definite, who sits where, and
// the plan of each phase.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "plan/plan.h"
#include "topology/placement.h"

namespace hearth {

// Replaces zeros by defaults and throws (kUsage) for what cannot be.
void settle_options(const DecoderConfig& config, EngineOptions* options);

struct EnginePlan {
  Placement placement;
  std::vector<uint32_t> shard_nodes;  // machine node of each shard
  Plan prefill, decode;
};

// Places the threads and makes both phases' plans. With one shard it lies where the first thread
// sits; with several, shard i lies on the i-th node that has threads (kUsage where there are fewer
// nodes).
EnginePlan plan_engine(const Machine& machine, const EngineOptions& options);

}  // namespace hearth
