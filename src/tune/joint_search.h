// JointSearch: the plan of a phase that is fastest with kernels of its own. Plans are measured with
// the kernels set by hand, which suit one more than another; so the best of them (Sandwich takes
// 10, its table 2) are held against each other once more, each with the kernels that were found for
// it:
//
//   1. all get their kernels' fast start, and are compared with the first plan, which has its own;
//   2. the best two of these, the first plan among them where it is, get the whole search;
//   3. trials of whole steps decide between the two, and at last between what won and the first
//      plan, which falls where 95 % confidence says that the other saves one part in a hundred.
//
// It sees nothing of the machine but the functions that it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/paired_trials.h"
#include "tune/plan_search.h"

namespace hearth {

// The measurements that a search asks for; false or none where somebody stopped it.
struct JointWork {
  std::function<bool(const Plan& plan)> look;    // the fast start of all kernels under this plan
  std::function<bool(const Plan& plan)> search;  // their whole search
  // Returns the cost of whole steps under `plan` with its kernels, as far as found, as a part of
  // their cost under `other` with its own.
  std::function<std::optional<TimeRatio>(const Plan& plan, const Plan& other, uint32_t pairs)>
      compare;
};

struct JointResult {
  Plan best;
  TimeRatio cost;  // as a part of the first plan's, both with kernels of their own
};

// The first plan, and of those that were measured against it with the kernels set by hand the best,
// `most` in all: none that was worse by more than kernels are likely to make up for.
std::vector<Plan> joint_candidates(const Plan& first, std::vector<PlanTrial> measured,
                                   uint32_t most);

// `candidates`: as joint_candidates() gives them. None where it was stopped.
std::optional<JointResult> search_jointly(const std::vector<Plan>& candidates,
                                          const JointWork& work);

}  // namespace hearth
