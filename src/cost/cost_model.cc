#include "cost/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "cost/step_load.h"
#include "graph/step_view.h"
#include "models/core_graph.h"

namespace hearth {
namespace {

// Adds up the times of ops and the waits between them, in the order of execution.
class StepClock {
 public:
  StepClock(const Machine& machine, const BandwidthTable& table, const ReadRates& rates,
            const PlacedPlan& plan, const CostConstants& constants)
      : machine_(machine),
        rates_(rates),
        plan_(plan),
        constants_(constants),
        groups_(plan.plan.group_count()),
        wait_(mean_greatest(groups_) * constants.jitter) {
    const std::vector<uint32_t> all = plan.plan.working_members();
    for (uint32_t m : all) ++core_threads_[plan.placement.seats[m].core];
    barrier_all_ = barrier(all);
    for (const PlanGroup& group : plan.plan.groups) {
      barriers_.push_back(barrier(group.members));
      speeds_.push_back(speed(table, group));
    }
    if (groups_ > 1) meeting_ = 2 * hop(all);
  }

  // Adds the next op of the segment. A barrier follows it, unless it is the step's last.
  void add(const NodeLoad& load, bool last) {
    std::vector<double> reads = read_seconds(load);
    std::vector<double>& took = segment_.emplace_back();
    for (uint32_t g = 0; g < groups_; ++g) {
      double compute = 0;
      // The counts of operations are by the units that this level has: ops without a unit are
      // counted as fused multiply-adds already.
      for (size_t u = 0; u < kArithmeticUnits; ++u) {
        if (load.ops[g][u] > 0) compute += load.ops[g][u] / speeds_[g][u];
      }
      compute /= constants_.arithmetic_share;
      took.push_back(std::max({reads[g], compute, load.least[g]}) * load.stretch);
    }
    if (last) {
      ends_bare_ = true;
    } else {
      ++barriers_passed_;
    }
  }

  // Ends the segment. `meet`: whether the groups meet after it.
  void end_segment(bool meet) {
    seconds_ += plan_.plan.sync == GroupSync::kAsync ? async_seconds() : lockstep_seconds();
    if (meet && groups_ > 1 && plan_.plan.sync == GroupSync::kAsync) {
      seconds_ += meeting_;
      ++meetings_;
    }
    for (const std::vector<double>& op : segment_) work_ += mean(op);
    segment_.clear();
  }

  void report(StepCost* cost) const {
    cost->seconds = seconds_;
    cost->work_seconds = work_;
    cost->barriers = barriers_passed_;
    bool all = plan_.plan.sync == GroupSync::kLockstep && groups_ > 1;
    cost->meetings = all ? barriers_passed_ : meetings_;
  }

 private:
  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  // Returns the seconds of the slowest message between two members of a barrier. A message stays
  // within a last-level cache or within a node, or goes from node to node.
  double hop(const std::vector<uint32_t>& members) const {
    const Core& first = machine_.cores[plan_.placement.seats[members[0]].core];
    double worst = constants_.cache_hop;
    for (uint32_t m : members) {
      const Core& core = machine_.cores[plan_.placement.seats[m].core];
      if (core.node != first.node) return constants_.remote_hop;
      if (core.llc != first.llc) worst = constants_.node_hop;
    }
    return worst;
  }

  double barrier(const std::vector<uint32_t>& members) const {
    return std::bit_width(static_cast<uint32_t>(members.size()) - 1) * hop(members);
  }

  // Returns the operations a second of all cores of a group, by arithmetic unit.
  std::array<double, kArithmeticUnits> speed(const BandwidthTable& table,
                                             const PlanGroup& group) const {
    double count = 0;
    for (uint32_t m : group.members) {
      const uint32_t core = plan_.placement.seats[m].core;
      const uint32_t threads = core_threads_.at(core);
      bool fast = machine_.cores[core].kind + 1 == machine_.kinds.size();
      double part = fast ? 1 : constants_.slow_core;
      if (rates_.is_measured(machine_.cores[core].node)) {
        const std::vector<Contention::Way>& ways = table.contention->ways;
        part *= ways[std::min<size_t>(threads, ways.size()) - 1].ops;
      }
      count += part / threads;
    }
    bool known = table.core_ops[static_cast<size_t>(ArithmeticUnit::kF32Fma)] > 0;
    std::array<double, kArithmeticUnits> speed = known ? table.core_ops : constants_.core_ops;
    for (double& rate : speed) rate *= count;
    return speed;
  }

  std::vector<double> read_seconds(const NodeLoad& load) const {
    uint32_t n = rates_.nodes();
    std::vector<double> into(n, 0), out(n, 0), memory(n, 0);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < n; ++j) {
        double bytes = 0;
        for (uint32_t g = 0; g < groups_; ++g) bytes += load.read(g, i, j);
        if (bytes == 0) continue;
        into[i] += bytes / rates_.threads_read(i, j);
        if (i != j) out[j] += bytes / rates_.node_reads(i, j);
        memory[j] += bytes / rates_.memory_gives(j);
      }
    }
    std::vector<double> seconds(groups_, 0);
    for (uint32_t g = 0; g < groups_; ++g) {
      for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
          if (load.read(g, i, j) == 0) continue;
          seconds[g] = std::max({seconds[g], into[i], out[j], memory[j]});
        }
      }
      seconds[g] /= constants_.read_share;
    }
    return seconds;
  }

  double async_seconds() const {
    double slowest = 0, squares = 0;
    for (const std::vector<double>& op : segment_) squares += mean(op) * mean(op);
    for (uint32_t g = 0; g < groups_; ++g) {
      double sum = 0;
      for (const std::vector<double>& op : segment_) sum += op[g] + barriers_[g];
      if (ends_bare_) sum -= barriers_[g];
      slowest = std::max(slowest, sum);
    }
    return slowest + wait_ * std::sqrt(squares);
  }

  double lockstep_seconds() const {
    double sum = ends_bare_ ? -barrier_all_ : 0;
    for (const std::vector<double>& op : segment_) {
      sum += *std::max_element(op.begin(), op.end()) + barrier_all_ + wait_ * mean(op);
    }
    return sum;
  }

  const Machine& machine_;
  const ReadRates& rates_;
  const PlacedPlan& plan_;
  CostConstants constants_;
  uint32_t groups_;
  double wait_;                                // e(P) jitter
  std::map<uint32_t, uint32_t> core_threads_;  // threads at work, by core
  double barrier_all_ = 0, meeting_ = 0;
  std::vector<double> barriers_;                              // by group
  std::vector<std::array<double, kArithmeticUnits>> speeds_;  // by group
  std::vector<std::vector<double>> segment_;                  // seconds by op and group
  double seconds_ = 0, work_ = 0;
  uint32_t barriers_passed_ = 0, meetings_ = 0;
  bool ends_bare_ = false;  // no barrier follows the segment's last op
};

// Adds up the bytes of all ops of a step.
class Totals {
 public:
  Totals(const ReadRates& rates, StepCost* cost) : rates_(rates), cost_(*cost) {
    for (uint32_t i = 0; i < rates.nodes(); ++i) {
      if (rates.threads(i) > 0) cost_.nodes.push_back({i, rates.threads(i)});
    }
  }

  void add(const NodeLoad& load) {
    cost_.weight_bytes += load.weight_bytes;
    cost_.kv_bytes += load.kv_bytes;
    cost_.activation_bytes += load.activation_bytes;
    cost_.embedding_bytes += load.embedding_bytes;
    for (uint32_t g = 0; g < load.ops.size(); ++g) {
      for (size_t u = 0; u < kArithmeticUnits; ++u) cost_.ops[u] += load.ops[g][u];
      for (StepCost::NodeTraffic& node : cost_.nodes) {
        for (uint32_t j = 0; j < rates_.nodes(); ++j) {
          (j == node.node ? node.local_bytes : node.remote_bytes) += load.read(g, node.node, j);
        }
      }
    }
  }

 private:
  const ReadRates& rates_;
  StepCost& cost_;
};

}  // namespace

double StepCost::local_bytes() const {
  double sum = 0;
  for (const NodeTraffic& node : nodes) sum += node.local_bytes;
  return sum;
}

double StepCost::remote_bytes() const {
  double sum = 0;
  for (const NodeTraffic& node : nodes) sum += node.remote_bytes;
  return sum;
}

// Walks the graph of the plan. Graph nodes count as one op as long as no barrier is between them.
// Groups meet where a graph node says so.
StepCost predict_step(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
                      const PlacedPlan& plan, const StepShape& step,
                      const CostConstants& constants) {
  std::vector<CutAxis> axes = cut_axes(model, plan.shares);
  WeightTable weights(model, axes, deal_experts(model, plan.shares, plan.experts));
  // Any level will do here, since the counts do not depend on the kernels of a level.
  Graph graph =
      build_graph(model, weights, plan.plan, kernels_for(Isa::kReference), {.outputs = 1});
  const bool encoder = model.is_encoder();
  StepItem item{0, step.rows, encoder ? 0 : step.depth, nullptr, step.expanded};
  StepSizes sizes{.graph = graph,
                  .items = {&item, 1},
                  .rows = step.rows,
                  .outputs = encoder ? step.rows : 1,
                  .logit_rows = encoder ? 0u : 1u,
                  .kv_type = step.kv_type,
                  .units = measured_units(table)};
  ReadRates rates(machine, table, plan, constants);
  LoadSpreader spreader(machine, rates, plan, constants);
  StepClock clock(machine, table, rates, plan, constants);
  StepCost cost;
  Totals totals(rates, &cost);
  NodeLoad load = spreader.empty();
  for (const GraphNode& node : graph.nodes) {
    if (node.sync != Sync::kNone) clock.end_segment(true);
    for (uint32_t g = 0; g < node.instances.size(); ++g) {
      spreader.add(node.instances[g]->load(sizes), g, &load);
    }
    bool last = &node == &graph.nodes.back();
    if (!node.barrier_after && !last) continue;
    // A barrier also follows the last op of each segment, but not the last op of the step.
    clock.add(load, !node.barrier_after);
    totals.add(load);
    load = spreader.empty();
    if (node.meets_after) clock.end_segment(true);
  }
  clock.end_segment(false);
  clock.report(&cost);
  cost.tokens_per_second = step.rows / cost.seconds;
  return cost;
}

}  // namespace hearth
