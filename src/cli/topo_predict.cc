#include "cli/topo_predict.h"

#include <fmt/format.h>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "engine/engine_options.h"
#include "topology/placement.h"

namespace hearth {
namespace {

std::string amount(double bytes) { return bytes_text(static_cast<uint64_t>(bytes)); }

Prediction of_plan(std::string name, const EnginePlan& plan) {
  auto placed = [&](const Plan& phase) {
    PlacedPlan one{phase, plan.placement, plan.shard_nodes, plan.shares};
    one.experts = plan.experts;
    return one;
  };
  return {std::move(name), placed(plan.decode), placed(plan.prefill), {}, {}};
}

// Returns the plan that an engine with these options would make, but with the rows of `plan`.
EnginePlan like(const Machine& machine, const EnginePlan& plan, EngineOptions options) {
  options.prefill_rows = plan.prefill.max_rows;
  options.decode_rows = plan.decode.max_rows;
  return plan_engine(machine, options);
}

Prediction on_one_node(const Machine& machine, const EnginePlan& plan) {
  EngineOptions options;
  options.pus = plan.placement.pus();
  options.threads = static_cast<uint32_t>(plan.placement.seats.size());
  options.shards = 1;
  return of_plan("weights on one node", like(machine, plan, options));
}

// Predicts for the first 1, 2, 4, ... nodes with threads, with all threads of these nodes.
std::vector<Prediction> on_fewer_nodes(const Machine& machine, const EnginePlan& plan) {
  std::vector<Prediction> predictions;
  std::vector<Placement::NodeSeats> seats = plan.placement.by_node();
  for (uint32_t count = 1; count < seats.size(); count *= 2) {
    EngineOptions options;
    for (uint32_t i = 0; i < count; ++i) {
      options.nodes.push_back(seats[i].node);
      options.threads += seats[i].count;
    }
    std::string name = count == 1
                           ? fmt::format("node {} alone", machine.nodes[seats[0].node].os_index)
                           : fmt::format("{} nodes", count);
    predictions.push_back(of_plan(std::move(name), like(machine, plan, options)));
  }
  return predictions;
}

void json_cost(Json& json, const Machine& machine, const StepCost& cost) {
  json.object().key("tokens_per_second").real(cost.tokens_per_second);
  json.key("seconds").real(cost.seconds).key("work_seconds").real(cost.work_seconds);
  json.key("weight_bytes").real(cost.weight_bytes).key("kv_bytes").real(cost.kv_bytes);
  json.key("activation_bytes").real(cost.activation_bytes);
  json.key("embedding_bytes").real(cost.embedding_bytes);
  json.key("barriers").number(cost.barriers).key("meetings").number(cost.meetings);
  json.key("nodes").array();
  for (const StepCost::NodeTraffic& node : cost.nodes) {
    json.object().key("node").number(machine.nodes[node.node].os_index);
    json.key("threads").number(node.threads);
    json.key("local_bytes").real(node.local_bytes);
    json.key("remote_bytes").real(node.remote_bytes).end_object();
  }
  json.end_array().end_object();
}

std::string step_text(const Machine& machine, const std::string& name, const StepCost& cost) {
  std::string out =
      fmt::format("{}: {:.2f} ms, of them {:.0f} % waiting; {} barriers, {} cross-group points\n",
                  name, cost.seconds * 1e3, 100 * (1 - cost.work_seconds / cost.seconds),
                  cost.barriers, cost.meetings);
  for (const StepCost::NodeTraffic& node : cost.nodes) {
    out += fmt::format("  node {}: {} read from its own memory, {} from others\n",
                       machine.nodes[node.node].os_index, amount(node.local_bytes),
                       amount(node.remote_bytes));
  }
  return out;
}

}  // namespace

std::vector<Prediction> predict(const Machine& machine, const BandwidthTable& table,
                                const ModelSpec& model, const EnginePlan& plan,
                                const PredictArgs& args) {
  std::vector<Prediction> all{of_plan("this plan", plan)};
  auto vary = [&](const char* name, GroupSync sync, WeightPlacing placing) {
    Prediction other = all.front();
    other.name = name;
    for (PlacedPlan* phase : {&other.decode, &other.prefill}) {
      phase->plan.sync = sync;
      phase->placing = placing;
    }
    all.push_back(std::move(other));
  };
  if (plan.decode.group_count() > 1) {
    vary("in lockstep", GroupSync::kLockstep, WeightPlacing::kPlaced);
  }
  if (machine.nodes.size() > 1) {
    vary("weights unplaced", GroupSync::kAsync, WeightPlacing::kUnplaced);
  }
  if (plan.shard_nodes.size() > 1 && model.expert_count() > 0) {
    Prediction other = all.front();
    const bool cut = plan.experts == ExpertCut::kCut;
    other.name = cut ? "experts spread" : "experts cut";
    other.decode.experts = other.prefill.experts = cut ? ExpertCut::kSpread : ExpertCut::kCut;
    all.push_back(std::move(other));
  }
  if (plan.shard_nodes.size() > 1) {
    all.push_back(on_one_node(machine, plan));
    for (Prediction& fewer : on_fewer_nodes(machine, plan)) all.push_back(std::move(fewer));
  }
  for (Prediction& one : all) {
    one.decode_cost = predict_step(machine, table, model, one.decode, {1, args.depth});
    // The prompt counts as the beginning of a longer text, as in `hearth bench`.
    const ExpandRule rule;
    const uint32_t expanded = model.has_latents() ? rule.positions(args.prompt + rule.tail) : 0;
    one.prefill_cost = predict_step(machine, table, model, one.prefill, {args.prompt, 0, expanded});
  }
  return all;
}

std::string predictions_text(const Machine& machine, const std::vector<Prediction>& predictions,
                             const PredictArgs& args) {
  std::string out =
      fmt::format("{:<20} {:>7} {:>6} {:>6} {:>11} {:>12} {:>11} {:>11}\n", "predicted", "threads",
                  "shards", "groups", "decode t/s", "prefill t/s", "local", "remote");
  for (const Prediction& one : predictions) {
    out += fmt::format("{:<20} {:>7} {:>6} {:>6} {:>11.1f} {:>12.1f} {:>11} {:>11}\n", one.name,
                       one.decode.plan.worker_count(), one.decode.shard_nodes.size(),
                       one.decode.plan.group_count(), one.decode_cost.tokens_per_second,
                       one.prefill_cost.tokens_per_second, amount(one.decode_cost.local_bytes()),
                       amount(one.decode_cost.remote_bytes()));
  }
  const Prediction& asked = predictions.front();
  auto tokens = [](uint32_t n) { return count_text(n, "token"); };
  std::string few = fmt::format("decode of a token after {}", args.depth);
  std::string many = "prefill of " + tokens(args.prompt);
  if (args.encoder) {
    few = "a text of 1 token";
    many = "a text of " + tokens(args.prompt);
  }
  return out + "\nthis plan\n" + step_text(machine, few, asked.decode_cost) +
         step_text(machine, many, asked.prefill_cost);
}

void json_predictions(Json& json, const Machine& machine,
                      const std::vector<Prediction>& predictions, const PredictArgs& args) {
  json.object().key("depth").number(args.depth).key("prompt").number(args.prompt);
  json.key("plans").array();
  for (const Prediction& one : predictions) {
    json.object().key("name").text(one.name);
    json.key("threads").number(one.decode.plan.worker_count());
    json.key("shards").number(one.decode.shard_nodes.size());
    json.key("groups").number(one.decode.plan.group_count());
    json.key("sync").text(group_sync_name(one.decode.plan.sync));
    json.key("placed").boolean(one.decode.placing == WeightPlacing::kPlaced);
    json_cost(json.key("decode"), machine, one.decode_cost);
    json_cost(json.key("prefill"), machine, one.prefill_cost);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace hearth
