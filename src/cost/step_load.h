// Finds how much each node of a machine reads and computes in the ops of a step, by the rules of
// cost/cost_model.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost/cost_model.h"
#include "graph/op_work.h"

namespace hearth {

// How many bytes a second the threads of a plan's groups read from each memory. Resting threads
// read nothing.
class ReadRates {
 public:
  ReadRates(const Machine& machine, const BandwidthTable& table, const PlacedPlan& plan,
            const CostConstants& constants);

  uint32_t nodes() const { return static_cast<uint32_t>(threads_.size()); }
  // Returns the number of threads at work on node i.
  uint32_t threads(uint32_t i) const { return threads_[i]; }
  // Returns b_ij: the rate at which all threads at work on node i together read the memory of j.
  double threads_read(uint32_t i, uint32_t j) const { return table_.read[i][j] * fill_[i]; }
  // Returns B_ij: the rate of all cores of node i, or of fewer cores if those read more.
  double node_reads(uint32_t i, uint32_t j) const { return table_.read[i][j] * most_[i]; }
  // Returns the most bytes a second that memory j gives to all readers together.
  double memory_gives(uint32_t j) const;
  // Returns the rate of one thread of node i while all others rest.
  double one_reads(uint32_t i, uint32_t j) const;
  // Returns the nodes whose memory can be read from some node.
  const std::vector<uint32_t>& memories() const { return memories_; }
  // Returns whether node i's rates come from the table's contention, which was measured on one
  // node. They do if node i has as many usable cores as that node; if not, a formula gives them.
  bool is_measured(uint32_t i) const { return measured_[i]; }

 private:
  void fill_node(uint32_t node, uint32_t threads, const CostConstants& constants);
  void fill_measured(const Machine& machine, const PlacedPlan& plan, uint32_t node);

  const BandwidthTable& table_;
  std::vector<uint32_t> threads_, memories_;
  std::vector<bool> measured_;
  // [node]: rates as parts of B_ij in the table. fill_: all threads at work together; alone_: one
  // thread while the others rest; most_: the number of threads that reads most.
  std::vector<double> fill_, alone_, most_;
};

// The work of an op, by group and node.
struct NodeLoad {
  NodeLoad(uint32_t groups, uint32_t node_count)
      : nodes(node_count), bytes(size_t{groups} * nodes * nodes), ops(groups), least(groups) {}

  uint32_t nodes;
  std::vector<double> bytes;                              // [group][threads' node][memory's node]
  std::vector<std::array<double, kArithmeticUnits>> ops;  // by group
  std::vector<double> least;                              // by group: the least seconds
  double stretch = 1;                                     // OpLoad::stretch
  double weight_bytes = 0, kv_bytes = 0, activation_bytes = 0, embedding_bytes = 0;

  double& read(uint32_t g, uint32_t i, uint32_t j) {
    return bytes[(size_t{g} * nodes + i) * nodes + j];
  }
  double read(uint32_t g, uint32_t i, uint32_t j) const {
    return bytes[(size_t{g} * nodes + i) * nodes + j];
  }
};

class LoadSpreader {
 public:
  // References must outlive the spreader.
  LoadSpreader(const Machine& machine, const ReadRates& rates, const PlacedPlan& plan,
               const CostConstants& constants);

  NodeLoad empty() const { return {plan_.plan.group_count(), rates_.nodes()}; }
  // Adds the work of a group in an op to `sum`.
  void add(const OpLoad& load, uint32_t group, NodeLoad* sum) const;

 private:
  uint32_t home(uint32_t group) const;
  std::vector<double> shares(uint32_t group, uint32_t shard) const;
  std::vector<uint32_t> memories_of(uint32_t shard) const;
  void add_reads(double bytes, uint32_t group, uint32_t shard, NodeLoad* sum) const;
  void add_table(double bytes, uint32_t group, uint32_t shard, NodeLoad* sum) const;
  void add_activations(const OpLoad& load, uint32_t group, NodeLoad* sum) const;
  void add_rows(const OpLoad::Rows& rows, uint32_t group, NodeLoad* sum) const;
  void add_row(uint32_t group, uint32_t node, double bytes, uint32_t home, double rows,
               double* seconds, NodeLoad* sum) const;

  const Machine& machine_;
  const ReadRates& rates_;
  const PlacedPlan& plan_;
  CostConstants constants_;
  std::vector<std::vector<uint32_t>> group_threads_;  // [group][node]
};

// Returns the units whose rates were measured, or all units if no rate was.
ArithmeticUnitSet measured_units(const BandwidthTable& table);

}  // namespace hearth
