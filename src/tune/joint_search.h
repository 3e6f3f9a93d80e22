// The search for the plan of a phase that is fastest with kernels of its own. Plans are first
// measured with the default kernels, which suit some plans better than others. So the best of these
// plans (Sandwich takes 10, its table 2) are compared once more, each with kernels that were
// searched for it:
//
//   1. The kernels of each plan get their fast start. Then each plan is compared with the first.
//   2. The kernels of the best two plans get the whole search. The first plan may be one of them.
//   3. Trials of whole steps decide between these two. The winner is then compared with the first
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

// The measurements that the search needs. Each returns false or none where the user stopped it.
struct JointWork {
  std::function<bool(const Plan& plan)> look;    // their fast start, under this plan
  std::function<bool(const Plan& plan)> search;  // their whole search, under this plan
  // Returns the time of whole steps under `plan` as a part of their time under `other`. Each plan
  // runs with the kernels that were found for it so far.
  std::function<std::optional<TimeRatio>(const Plan& plan, const Plan& other, uint32_t pairs)>
      compare;
};

struct JointResult {
  Plan best;
  TimeRatio cost;  // the first plan costs 1; both have kernels of their own
};

// Returns the first plan and then the cheapest measured ones, at most `most` plans in all. Their
// costs are those with default kernels. A plan that costs more than 1.15 times the best is left
// out, since kernels of its own are not likely to make up for that.
std::vector<Plan> joint_candidates(const Plan& first, std::vector<PlanTrial> measured,
                                   uint32_t most);

// Searches among the result of joint_candidates(). Returns none where the search was stopped.
std::optional<JointResult> search_jointly(const std::vector<Plan>& candidates,
                                          const JointWork& work);

}  // namespace hearth
