// Spreads what the ops of a step make groups read and compute over the nodes of a machine, by the
// rules that cost/cost_model.h gives.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost/cost_model.h"
#include "graph/op_work.h"

namespace hearth {

// Bytes a second that the threads of a plan's groups get from memories; those who rest read
// nothing.
class ReadRates {
 public:
  ReadRates(const Machine& machine, const BandwidthTable& table, const PlacedPlan& plan,
            const CostConstants& constants);

  uint32_t nodes() const { return static_cast<uint32_t>(threads_.size()); }
  // Threads at work on node i.
  uint32_t threads(uint32_t i) const { return threads_[i]; }
  // b_ij, of all threads at work on node i together.
  double threads_read(uint32_t i, uint32_t j) const { return table_.read[i][j] * fill_[i]; }
  // B_ij, of all cores of node i, or of as many as read most.
  double node_reads(uint32_t i, uint32_t j) const { return table_.read[i][j] * most_[i]; }
  // Memory j gives so much at most.
  double memory_gives(uint32_t j) const;
  // The rate of one thread on node i alone.
  double one_reads(uint32_t i, uint32_t j) const;
  // Nodes with memory that anybody can read.
  const std::vector<uint32_t>& memories() const { return memories_; }
  // Whether the table knows what threads of node i lose beside each other: it has as many cores as
  // the node that was measured.
  bool is_measured(uint32_t i) const { return measured_[i]; }

 private:
  void fill_node(uint32_t node, uint32_t threads, const CostConstants& constants);
  void fill_measured(const Machine& machine, const PlacedPlan& plan, uint32_t node);

  const BandwidthTable& table_;
  std::vector<uint32_t> threads_, memories_;
  std::vector<bool> measured_;
  // The threads at work read this part of B_ij, one alone reads the next, and most read the last,
  // for each node.
  std::vector<double> fill_, alone_, most_;
};

// The work of an op for every group, by nodes.
struct NodeLoad {
  NodeLoad(uint32_t groups, uint32_t node_count)
      : nodes(node_count), bytes(size_t{groups} * nodes * nodes), ops(groups), least(groups) {}

  uint32_t nodes;
  std::vector<double> bytes;                              // [group][threads' node][memory's node]
  std::vector<std::array<double, kArithmeticUnits>> ops;  // by group
  std::vector<double> least;                              // by group: seconds it takes at least
  double stretch = 1;                                     // as in OpLoad
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
  // Adds what a group has to do in an op.
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

// Returns the units that were measured; all of them where the table knows of none.
ArithmeticUnitSet measured_units(const BandwidthTable& table);

}  // namespace hearth
