// Counts how often threads wait for each other, for tests of graphs.
#pragma once

#include "graph/graph.h"

namespace hearth {

// How often threads wait for each other in a layer; -1: outside the layers.
struct SyncCounts {
  uint32_t barriers = 0;     // of a group, or in lockstep of all
  uint32_t cross_group = 0;  // points where groups meet; in lockstep every barrier is one
  bool operator==(const SyncCounts&) const = default;
};

inline SyncCounts sync_counts(const Graph& graph, int layer) {
  SyncCounts counts;
  bool lockstep = graph.plan.sync == GroupSync::kLockstep && graph.plan.group_count() > 1;
  for (const GraphNode& node : graph.nodes) {
    if (node.layer != layer) continue;
    if (node.barrier_after) ++counts.barriers;
    if (node.sync != Sync::kNone || (lockstep && node.barrier_after)) ++counts.cross_group;
    if (node.meets_after) ++counts.cross_group;
  }
  return counts;
}

}  // namespace hearth
