// PlanSpace: the plans that tuning may choose from for one phase of an engine: who of its threads
// works, and in which groups. Threads, shards and shares stay as they are, and so do all bits.
//
// A partition of PUs (tune/topo_tree.h) becomes a plan where that can be: a group whose members
// stand on one shard takes a part of it, as many parts as groups stand there; a group that stands
// on several takes them whole, if nobody else stands there. A shard that nobody at work stands on
// falls to the group before it, or behind it, where that takes its shards whole.
//
// Threads may be seated on more cores than may be at work at a time, as where one is spared for
// work beside the steps. A partition of more is a plan without some of them: first those that the
// start plan leaves out, and of each kind the last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/axis_cutting.h"
#include "models/model_spec.h"
#include "plan/plan.h"
#include "topology/placement.h"
#include "tune/topo_tree.h"

namespace hearth {

struct PlanSpace {
  Placement placement;
  Plan start;                         // the plan that the others are held against
  std::vector<uint32_t> most_groups;  // by shard: that may share it
  uint32_t most_cores = UINT32_MAX;   // that may be at work

  // Returns the most groups of all shards together.
  uint32_t most_groups_of_all() const;
  // The plan of this partition of PUs of the placement, with everything else as in `start`.
  std::optional<Plan> plan_of(const TopoTree::Partition& partition) const;

 private:
  TopoTree::Partition spared(const TopoTree::Partition& partition) const;
};

// Plans that are worth a trial where nobody measured what cores lose beside each other: the start
// plan's groups, of which of every two, three or four cores in a row one rests, or none, with one
// thread on every core and with all that have a seat. Each once, without the start plan.
std::vector<Plan> resting_plans(const PlanSpace& space);

// Returns by shard how many groups may share it under these shares: one for each of its segments,
// fewer where one would have no heads, and for a model with latents as many as `start` has, since
// the KV pages hold copies for no more.
std::vector<uint32_t> most_groups_on(const ModelSpec& spec, const std::vector<uint32_t>& shares,
                                     const Plan& start);

}  // namespace hearth
