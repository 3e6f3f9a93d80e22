// The work of ops in a step, to be compared with the limits of the machine. Each op reports the
// work of each of its instances, which follows only from the graph and the step's sizes. The
// profile of a run, the bench and the cost model (cost/cost_model.h) walk a graph and add up the
// work of its ops.
//
// Bytes are those of packed weights and of the KV cache that must be read from memory. Each byte
// counts once, however many tasks read it again from a processor's cache. Operations are the
// multiplications and the additions of matrix products and of attention, by the unit that they run
// on. Padding is not counted; nor are norms, RoPE, activations and the embedding, which are a
// thousandth of the rest.
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

// The sizes of a step that an op's work depends on. Such a step need not ever run.
struct StepSizes {
  const Graph& graph;
  std::span<const StepItem> items;  // their pages are not read
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

// The work of one group in an op, with its bytes divided by where they are read from.
struct OpLoad {
  struct Reads {
    uint32_t shard = 0;
    uint64_t weights = 0;  // packed
    uint64_t kv = 0;       // of the KV cache
    uint64_t table = 0;    // panels of the embedding table that hold the tokens' rows
  };
  std::vector<Reads> reads;
  std::array<uint64_t, kArithmeticUnits> operations{};  // by arithmetic unit
  uint64_t attention_operations = 0;                    // those of `operations` that attention does
  // Bytes that the weights which the op reads have in the model's source.
  double source_bytes = 0;

  // The load of the busiest shard divided by the mean load of all shards, for ops whose busiest
  // shard differs from step to step (experts). The other members then describe the mean load.
  double stretch = 1;

  // Bytes of activations, which lie on the group's first node. each_bytes: read by the threads of
  // every node. shared_bytes: read or written by the group's threads together.
  double each_bytes = 0, shared_bytes = 0;

  // The rows that the op sums, each by one thread: every group sums all rows or, if rows are dealt,
  // a part of them.
  struct Rows {
    uint32_t rows = 0, elements = 0;
    bool dealt = false;
    std::vector<double> read_bytes;  // of a row, by the group that holds them
    double copy_bytes = 0;  // of a dealt row's results, written into every other group's copy
  };
  Rows rows;

  Reads& of_shard(uint32_t shard);
  uint64_t& of(ArithmeticUnit unit) { return operations[static_cast<size_t>(unit)]; }
  // Returns the work of all nodes, without the embedding table.
  OpWork total() const;
};

// Returns the mean of the greatest of n independent standard normal variables; 0 for n = 1.
double mean_greatest(uint32_t n);

// Return the bytes of an element of activations with its part of scales and sums: in one format, or
// in all formats of a mask (Value::formats).
double act_element_bytes(ActFormat format);
double act_element_bytes_of(uint8_t formats);

// Counts the positions that rows at first_position, first_position + 1, ... see by causal
// attention. Each row sees the positions up to its own, or the last `window` of them (0: all).
struct Visible {
  uint64_t positions;  // seen by at least one row
  uint64_t pairs;      // of a row and a position that it sees
};
Visible visible(uint64_t first_position, uint64_t rows, uint64_t window);

}  // namespace hearth
