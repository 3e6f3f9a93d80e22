// PlanWorkload: the steps for which a phase's plan is chosen, and the predicted cost of plans over
// them. The time of each step is divided by its time under the first plan; the cost is the mean of
// these ratios. So the first plan costs 1, and all steps count alike, however long they take.
#pragma once

#include <vector>

#include "cost/cost_model.h"
#include "tune/plan_search.h"

namespace hearth {

struct PlanWorkload {
  std::vector<StepShape> steps;
};

// Returns a function that predicts the cost of a plan. `placed` has the first plan. All references
// must outlive the function.
PlanCost predicted_cost(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
                        const PlacedPlan& placed, const PlanWorkload& workload);

}  // namespace hearth
