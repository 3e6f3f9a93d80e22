// The cost model's predictions for `hearth topo`: the plan's rates, those of plans beside it, and
// what every node reads. For people, and as a value of a JSON object.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cost/cost_model.h"
#include "engine/engine_plan.h"

namespace hearth {

// One plan and what it comes to. Plans differ from the first, which is the one asked for, in what
// `name` says.
struct Prediction {
  std::string name;
  PlacedPlan decode, prefill;
  StepCost decode_cost, prefill_cost;
};

struct PredictArgs {
  uint32_t depth = 512;   // positions that decode finds
  uint32_t prompt = 512;  // tokens of a prefill step
  bool encoder = false;   // then a step is of a whole text, of one token or of `prompt`
};

// The plan itself; in lockstep; with weights unplaced; with all of them on one node; on the first
// node that has threads alone, on the first two, four and so on. Those that make no difference are
// left out.
std::vector<Prediction> predict(const Machine& machine, const BandwidthTable& table,
                                const ModelSpec& model, const EnginePlan& plan,
                                const PredictArgs& args);

std::string predictions_text(const Machine& machine, const std::vector<Prediction>& predictions,
                             const PredictArgs& args);
void json_predictions(Json& json, const Machine& machine,
                      const std::vector<Prediction>& predictions, const PredictArgs& args);

}  // namespace hearth
