// The work of ops in a step, to be held against what the machine could do. Each op tells it of each
// of its instances, from the graph and the step's sizes alone: the profile of a run, the bench
// and the cost model (cost/cost_model.h) all walk a graph and add it up.
//
// Bytes are those of packed weights and of the KV cache that must be read from memory, each counted
// once however many tasks read it again from a cache. Operations are those of matrix products and
// of attention, a multiplication and an addition being two, by the unit that they run on; padding
// is not counted, nor are norms, RoPE, activations and the embedding: a thousandth of the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/limits/limits.h"
#include "kernels/quantize/quantize.h"

namespace hearth {

struct Graph;
struct StepItem;

// The sizes of a step that an op's work depends on. The step may be one that is never run.
struct StepSizes {
  const Graph& graph;
  std::span<const StepItem> items;  // their pages are not looked at
  uint32_t rows = 0, outputs = 0, logit_rows = 0;
  KvType kv_type = KvType::kF16;
  ArithmeticUnitSet units;  // those that the kernels use
};

// The work of one op or of several, over all groups.
struct OpWork {
  uint64_t bytes = 0;
  std::array<uint64_t, kArithmeticUnits> operations{};  // by arithmetic unit

  uint64_t& of(ArithmeticUnit unit) { return operations[static_cast<size_t>(unit)]; }
  uint64_t of(ArithmeticUnit unit) const { return operations[static_cast<size_t>(unit)]; }
  OpWork& operator+=(const OpWork& other) {
    bytes += other.bytes;
    for (size_t u = 0; u < kArithmeticUnits; ++u) operations[u] += other.operations[u];
    return *this;
  }
  bool operator==(const OpWork&) const = default;
};

// The work of one group in an op, by where it reads.
struct OpLoad {
  struct Reads {
    uint32_t shard = 0;
    uint64_t weights = 0;  // packed
    uint64_t kv = 0;       // of the KV cache
    uint64_t table = 0;    // panels of the embedding table that hold the tokens' rows
  };
  std::vector<Reads> reads;
  std::array<uint64_t, kArithmeticUnits> operations{};  // by arithmetic unit
  uint64_t attention_operations = 0;                    // of them
  // Bytes of the weights that are read, as they stand in the model's source.
  double source_bytes = 0;

  // The load of the busiest shard over the mean of all shards, where which is busiest differs from
  // step to step (experts); the other members then are of the mean.
  double stretch = 1;

  // Activations, which lie on the group's first node: bytes that the threads of every node read,
  // and bytes that the group's threads read or write between them.
  double each_bytes = 0, shared_bytes = 0;

  // Rows that are each summed by one thread, of every group or, where rows are dealt, of all.
  struct Rows {
    uint32_t rows = 0, elements = 0;
    bool dealt = false;
    std::vector<double> read_bytes;  // of a row, by the group that it lies with
    double copy_bytes = 0;           // of a row dealt, written into every other group's copy
  };
  Rows rows;

  Reads& of_shard(uint32_t shard);
  uint64_t& of(ArithmeticUnit unit) { return operations[static_cast<size_t>(unit)]; }
  // Returns the work of all nodes, without the embedding table.
  OpWork total() const;
};

// e(n): the mean of the greatest of n independent standard normal variables; 0 for 1.
double mean_greatest(uint32_t n);

// Bytes of an element of activations in a format, with scales and sums; of several formats, a bit
// each (graph/bundle.h), together.
double act_element_bytes(ActFormat format);
double act_element_bytes_of(uint8_t formats);

// Counts what rows at positions first_position, first_position + 1, ... see by causal attention:
// each the positions up to its own, or the last `window` of them (0: all).
struct Visible {
  uint64_t positions;  // that some row sees
  uint64_t pairs;      // of a row and a position
};
Visible visible(uint64_t first_position, uint64_t rows, uint64_t window);

}  // namespace hearth
