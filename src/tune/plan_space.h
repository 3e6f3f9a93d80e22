// PlanSpace: the plans that tuning may choose from for one phase of an engine. A plan says which of
// the engine's threads work, and in which groups. Threads, shards and shares are the same in all
// plans of a space, and so all bits of results are.
//
// A partition of PUs (tune/topo_tree.h) becomes a plan if these rules allow one. Groups whose
// members all stand on the same shard take one part of it each. A group whose members stand on
// several shards takes these as a whole, if no other group stands on them. A shard without working
// threads goes to the group before it, or else to the group behind it, if that group takes its
// shards as a whole.
//
// Threads may have seats on more cores than may work at a time, for example if one core is spared
// for other work. If a partition has too many cores, some of them rest. These are first the cores
// that do not work in the start plan, then others; in both cases the last ones rest first.
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
  // Returns the plan of this partition of the placement's PUs; the rest of the plan is as in
  // `start`. Returns none where the rules above allow no plan.
  std::optional<Plan> plan_of(const TopoTree::Partition& partition) const;

 private:
  TopoTree::Partition spared(const TopoTree::Partition& partition) const;
};

// Returns plans that are worth a trial where no measurement tells what cores lose by working at the
// same time. They have the start plan's groups. Either no core rests, or one of every two, three or
// four in a row does. Working cores have one thread, or all threads with a seat. Each plan comes
// once, and the start plan does not come.
std::vector<Plan> resting_plans(const PlanSpace& space);

// Returns for each shard how many groups may share it under these shares. That is as many as it has
// segments, or fewer if a group would get no heads. For a model with latents it is at most the
// number in `start`, since the KV pages have copies for no more groups.
std::vector<uint32_t> max_groups_on(const ModelSpec& spec, const std::vector<uint32_t>& shares,
                                    const Plan& start);

}  // namespace hearth
