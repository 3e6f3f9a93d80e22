#include "graph/graph.h"

namespace hearth {

SyncCounts sync_counts(const Graph& graph, int layer) {
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
