// PlanWorkload: the steps that a phase's plan is chosen for, and what the cost model says that
// plans cost over them. A cost is a mean of times as parts of the times under a first plan, which
// so costs 1, and every step counts alike, however long it takes.
#pragma once

#include <vector>

#include "cost/cost_model.h"
#include "tune/plan_search.h"

namespace hearth {

struct PlanWorkload {
  std::vector<StepShape> steps;
};

// All references must outlive the function. `placed` has the first plan.
PlanCost predicted_cost(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
                        const PlacedPlan& placed, const PlanWorkload& workload);

}  // namespace hearth
