// What every op of a step makes the groups of a placed plan read and compute: the counting part of
// the cost model (tune/cost_model.h says by which rules).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/op_work.h"
#include "models/decoder.h"
#include "tune/cost_model.h"

namespace hearth {

// Bytes a second that threads get from memories, under a placement.
class ReadRates {
 public:
  ReadRates(const Machine& machine, const BandwidthTable& table, const Placement& placement,
            const CostConstants& constants);

  uint32_t nodes() const { return static_cast<uint32_t>(threads_.size()); }
  // Threads of the placement on node i.
  uint32_t threads(uint32_t i) const { return threads_[i]; }
  // b_ij, of all threads of the placement on node i together.
  double threads_read(uint32_t i, uint32_t j) const { return table_.read[i][j] * fill_[i]; }
  // B_ij, of all cores of node i.
  double node_reads(uint32_t i, uint32_t j) const { return table_.read[i][j]; }
  // What memory j gives at most.
  double memory_gives(uint32_t j) const;
  // Of one thread on node i alone.
  double one_reads(uint32_t i, uint32_t j) const;
  // Nodes with memory that anybody can read.
  const std::vector<uint32_t>& memories() const { return memories_; }

 private:
  const BandwidthTable& table_;
  std::vector<uint32_t> threads_, memories_;
  std::vector<double> fill_, alone_;  // by node: f(n) / f(N); u
};

struct OpLoad {
  OpLoad(uint32_t groups, uint32_t node_count)
      : nodes(node_count), bytes(size_t{groups} * nodes * nodes), ops(groups), least(groups) {}

  uint32_t nodes;
  std::vector<double> bytes;                    // [group][threads' node][memory's node]
  std::vector<std::array<double, kUnits>> ops;  // by group
  std::vector<double> least;                    // by group: seconds it takes at least
  double weight_bytes = 0, kv_bytes = 0, activation_bytes = 0, embedding_bytes = 0;

  double& read(uint32_t g, uint32_t i, uint32_t j) {
    return bytes[(size_t{g} * nodes + i) * nodes + j];
  }
  double read(uint32_t g, uint32_t i, uint32_t j) const {
    return bytes[(size_t{g} * nodes + i) * nodes + j];
  }
};

// In the order of execution.
struct LayerLoad {
  OpLoad qkv, rope, attention, output, reduce_attention, gate_up, down, reduce_ffn;
};

class StepLoader {
 public:
  // References must outlive the loader.
  StepLoader(const Machine& machine, const BandwidthTable& table, const ReadRates& rates,
             const ModelShape& model, const PlacedPlan& plan, const StepShape& step,
             const CostConstants& constants);

  OpLoad embedding() const;
  LayerLoad layer(const LayerTypes& types) const;
  // The reduce of the last layer, of the row whose logits are wanted.
  OpLoad last_reduce() const;
  OpLoad head() const;

 private:
  struct Matrix;

  OpLoad empty() const;
  uint32_t home(uint32_t group) const;
  std::vector<double> shares(uint32_t group, uint32_t shard) const;
  std::vector<uint32_t> memories_of(uint32_t shard) const;
  void spread(OpLoad& load, uint32_t group, uint32_t shard, double bytes) const;
  void add_matrix(OpLoad& load, const Matrix& matrix, uint32_t rows) const;
  void add_activations(OpLoad& load, uint32_t group, double each, double shared,
                       uint32_t rows) const;
  void add_layer_activations(LayerLoad& load, const LayerTypes& types, uint32_t group) const;
  OpLoad attention() const;
  OpLoad reduce(const AxisCuts& cuts, DType reader, uint32_t rows) const;
  void add_row(OpLoad& load, uint32_t group, uint32_t node, double bytes, uint32_t home,
               double rows, double* seconds) const;

  const Machine& machine_;
  const ReadRates& rates_;
  const ModelShape& model_;
  const PlacedPlan& plan_;
  StepShape step_;
  CostConstants constants_;
  UnitSet units_;
  DecoderAxes axes_;
  std::vector<std::vector<uint32_t>> group_threads_;  // [group][node]
};

}  // namespace hearth
