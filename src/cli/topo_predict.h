// The cost model's predictions for `hearth topo`: rates of the plan and of alternatives, and what
// every node reads. As text, and as a JSON value.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cost/cost_model.h"
#include "engine/engine_plan.h"

namespace hearth {

// A plan and its predicted rates. The first prediction is that of the plan asked for; `name` says
// how a later plan differs from it.
struct Prediction {
  std::string name;
  PlacedPlan decode, prefill;
  StepCost decode_cost, prefill_cost;
};

struct PredictArgs {
  uint32_t depth = 512;   // positions in the KV cache during decode
  uint32_t prompt = 512;  // tokens of a prefill step
  bool encoder = false;   // if so, a step is a whole text, of one token or of `prompt`
};

// Predicts the plan itself, and alternatives: in lockstep; weights not placed; all weights on one
// node; only the first node with threads, the first two, four and so on. Alternatives that make no
// difference are left out.
std::vector<Prediction> predict(const Machine& machine, const BandwidthTable& table,
                                const ModelSpec& model, const EnginePlan& plan,
                                const PredictArgs& args);

std::string predictions_text(const Machine& machine, const std::vector<Prediction>& predictions,
                             const PredictArgs& args);
void json_predictions(Json& json, const Machine& machine,
                      const std::vector<Prediction>& predictions, const PredictArgs& args);

}  // namespace hearth
