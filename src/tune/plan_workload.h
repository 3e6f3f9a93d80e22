// PlanWorkload: the steps that a phase's plan is chosen for, and the predicted cost of plans over
// them. A cost is the mean over the steps of the predicted time as a part of the time under the
// first plan. So the first plan costs 1, and all steps count alike, however long they take.
#pragma once

#include <vector>

#include "cost/cost_model.h"
#include "tune/plan_search.h"

namespace hearth {

struct PlanWorkload {
  std::vector<StepShape> steps;
};

// Returns the function that predicts the cost of a plan. All references must outlive it. `placed`
// has the first plan.
PlanCost predicted_cost(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
                        const PlacedPlan& placed, const PlanWorkload& workload);

}  // namespace hearth
