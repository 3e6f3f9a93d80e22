// PlanSpace: the plans that tuning may choose from for one phase of an engine: which of its threads
// work, and in which groups. Threads, shards and shares stay the same in all of them, and so all
// bits of results.
//
// A partition of PUs (tune/topo_tree.h) becomes a plan where these rules allow one. Groups whose
// members all stand on one shard take one part of it each. A group whose members stand on several
// shards takes these whole, if no other group stands on them. A shard without working threads goes
// to the group before it, or else to the group behind it, if that group takes its shards whole.
//
// Threads may be seated on more cores than may work at a time, for example where one core is spared
// for other work than steps. If a partition has more cores, some of them rest: first those that do
// not work in the start plan, then others, each kind from the last core down.
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
  Plan start;                        // the plan that the others are compared with
  std::vector<uint32_t> max_groups;  // [shard]: the most groups that may share it
  uint32_t max_cores = UINT32_MAX;   // the most cores that may be at work

  uint32_t max_groups_of_all() const;
  // Returns the plan of this partition of the placement's PUs, with everything else as in `start`;
  // none where the rules above allow none.
  std::optional<Plan> plan_of(const TopoTree::Partition& partition) const;

 private:
  TopoTree::Partition spared(const TopoTree::Partition& partition) const;
};

// Returns plans that are worth a trial where nobody measured what cores lose beside each other.
// They have the start plan's groups. No core rests, or one of every two, three or four in a row.
// Working cores have one thread, or all threads with a seat. Each plan comes once, the start plan
// not at all.
std::vector<Plan> resting_plans(const PlanSpace& space);

// Returns by shard how many groups may share it under these shares: as many as it has segments, or
// fewer where a group would get no heads. For a model with latents it is at most the number in
// `start`, since the KV pages hold copies for no more.
std::vector<uint32_t> max_groups_on(const ModelSpec& spec, const std::vector<uint32_t>& shares,
                                    const Plan& start);

}  // namespace hearth
