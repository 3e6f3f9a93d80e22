// A Graph holds the ops of one phase's plan in execution order. It is immutable once built, and
// holds offsets but no memory. An ExecutionContext holds the rest that a run needs (bases, the
// step, counters, flags), so several runs of one graph can be under way at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/bundle.h"
#include "graph/op_work.h"
#include "graph/schedule_table.h"
#include "kernels/kernels.h"
#include "plan/plan.h"

namespace hearth {

class ExecutionContext;

// A thread at work on a node.
struct Worker {
  uint32_t group;
  uint32_t index;      // within the group
  uint32_t member;     // of the team
  uint32_t place;      // among the workers of all groups, in the order of groups
  uint32_t count;      // threads of the group
  std::byte* scratch;  // kOpScratchBytes of its own, 64-byte aligned
};

// Bytes of a worker's scratch, enough for any op: tiles, and behind them a kernel's own scratch.
inline constexpr size_t kOpTileBytes = size_t{1} << 20;
inline constexpr size_t kOpScratchBytes =
    kOpTileBytes +
    (kGemmScratchBytes > kAttendScratchBytes ? kGemmScratchBytes : kAttendScratchBytes);

// The numbers of an op's first counter and first flag in its context. Its other counters and flags
// have the numbers after these.
struct OpSync {
  uint32_t counter0, flag0;
};

// Code that all threads of a group run; they share its items by claiming chunks from the context's
// counters or by their index. Throws nothing, allocates nothing.
class Op {
 public:
  virtual ~Op() = default;
  virtual void run(ExecutionContext& context, const OpSync& sync,
                   const Worker& worker) const noexcept = 0;
  // Counters that a run claims from, each starting at 0; with n local shards the i-th lies on the
  // node of local shard i modulo n, whose threads claim from it first.
  virtual uint32_t counters() const { return 0; }
  // The number of flags by which threads within the op tell each other how far they are, by
  // context.post() and wait_for(). Each flag is posted once in a run. Flags lie on nodes as
  // counters do.
  virtual uint32_t flags() const { return 0; }
  // Returns the op's products with weights, for which schedules are looked up.
  virtual std::vector<ProductUse> products() const { return {}; }
  // Returns whether an AttendSchedule applies to the op.
  virtual bool attends() const { return false; }
  // Returns the work of this instance in a step; the instances of all groups sum up to the op's.
  virtual OpLoad load(const StepSizes&) const { return {}; }
};

enum class Sync : uint8_t { kNone, kFromSerial, kToSerial, kAllToAll };

struct GraphNode {
  std::string name;
  int layer;  // -1 outside the layers
  Mode mode;
  Sync sync;                                   // before the node
  uint32_t sync_index;                         // 1, 2, ... among the graph's cross-group points
  bool barrier_after;                          // the group's own barrier follows
  bool meets_after;                            // then all groups meet, at sync_index + 1
  std::vector<std::unique_ptr<Op>> instances;  // one, or one per group
  std::vector<OpSync> op_sync;                 // of each instance
};

// The offset of a value in its group's activation memory, per format.
struct ValuePlace {
  size_t offset[kActFormats];
};

struct Graph {
  // Returns the distinct products of all ops of the graph, in their order.
  std::vector<ProductUse> products() const;
  // Returns whether an AttendSchedule applies to some op (Op::attends).
  bool attends() const;

  Plan plan;
  Kernels kernels;
  uint32_t max_outputs;
  uint32_t max_items;   // of a step; 0: any number, and no value has RowSet::kPages
  uint32_t chosen = 0;  // experts that a token chooses; 0: there are none
  std::vector<GraphNode> nodes;
  std::vector<Value> values;
  std::vector<ValuePlace> places;
  std::vector<size_t> activation_bytes;  // per group
  uint32_t sync_count = 0;
  uint32_t counter_count = 0;
  uint32_t flag_count = 0;

  uint32_t rows_capacity(RowSet rows) const {
    if (rows == RowSet::kTokens) return plan.max_rows;
    if (rows == RowSet::kOutputs) return max_outputs;
    if (rows == RowSet::kOne) return 1;
    if (rows == RowSet::kChoices) return plan.max_rows * chosen;
    return plan.max_rows / kPagePositions + std::min(max_items, plan.max_rows);
  }
};

}  // namespace hearth
