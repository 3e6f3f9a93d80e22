#include "tune/plan_workload.h"

#include <utility>

namespace hearth {

PlanCost predicted_cost(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
                        const PlacedPlan& placed, const PlanWorkload& workload) {
  auto seconds = [&machine, &table, &model, placed, workload](const Plan& plan) {
    PlacedPlan one = placed;
    one.plan = plan;
    std::vector<double> all;
    for (const StepShape& step : workload.steps) {
      all.push_back(predict_step(machine, table, model, one, step).seconds);
    }
    return all;
  };
  const std::vector<double> first = seconds(placed.plan);
  return [seconds, first](const Plan& plan) {
    const std::vector<double> now = seconds(plan);
    double sum = 0;
    for (size_t i = 0; i < now.size(); ++i) sum += now[i] / first[i];
    return sum / static_cast<double>(now.size());
  };
}

}  // namespace hearth
