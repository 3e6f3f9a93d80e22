// The search for the plan of a phase that is fastest with kernels of its own. Plans are first
// measured with the default kernels, which suit some plans more than others. So the best of them
// (Sandwich takes 10, its table 2) are compared once more, each with the kernels that were found
// for it:
//
//   1. All get their kernels' fast start, and are compared with the first plan, which has its own.
//   2. The best two of these get the whole search. The first plan may be one of them.
//   3. Trials of whole steps decide between the two. The winner is then compared with the first
//      plan, and replaces it where it saves one part in a hundred at 95 % confidence.
//
// The search knows the machine only through the functions that it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/paired_trials.h"
#include "tune/plan_search.h"

namespace hearth {

// The measurements that a search asks for. They return false or none where they were stopped.
struct JointWork {
  std::function<bool(const Plan& plan)> look;    // the fast start of all kernels under this plan
  std::function<bool(const Plan& plan)> search;  // their whole search
  // Returns the time of whole steps under `plan` as a part of their time under `other`. Each plan
  // has the kernels that were found for it so far.
  std::function<std::optional<TimeRatio>(const Plan& plan, const Plan& other, uint32_t pairs)>
      compare;
};

struct JointResult {
  Plan best;
  TimeRatio cost;  // the first plan costs 1; both have kernels of their own
};

// Returns the first plan, then the best of the measured ones, cheapest first: `most` plans in all.
// Their costs are those with the default kernels. Plans that cost more than 1.15 times the best are
// left out, since their own kernels are not likely to make up for that.
std::vector<Plan> joint_candidates(const Plan& first, std::vector<PlanTrial> measured,
                                   uint32_t most);

// Searches among `candidates` (joint_candidates()). Returns none where the search was stopped.
std::optional<JointResult> search_jointly(const std::vector<Plan>& candidates,
                                          const JointWork& work);

}  // namespace hearth
