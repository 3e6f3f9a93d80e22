// An ExecutionContext holds everything that one run of a graph changes. Several contexts over one
// graph may be under way at once (dual batch, prefill beside decode), each with memory, counters,
// barriers and flags of its own. The words that threads wait on or claim from lie where
// sync_layout.h says.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/step_view.h"
#include "threads/barrier.h"
#include "threads/chunk_counter.h"
#include "threads/flag.h"

namespace hearth {

// The memory that a context works in, which must outlive the context.
struct ContextMemory {
  // The memory of each group: graph.activation_bytes[g] bytes, 64-byte aligned, on the node of
  // group g's first shard.
  std::vector<std::byte*> activations;
  // The memory of each shard: SyncLayout(graph).bytes[s] bytes, kLineSpacing-aligned, on the node
  // of shard s.
  std::vector<std::byte*> sync;
};

class ExecutionContext {
 public:
  // The graph must outlive the context. The constructor makes the counters, flags and barriers in
  // the memory, so all contexts over the same memory (RunContexts) are made before the first run.
  ExecutionContext(const Graph& graph, const ContextMemory& memory, const KvView& kv);

  // Sets the step of the next run: at most plan.max_rows rows, max_outputs outputs and, if
  // max_items is not 0, max_items items. Called by one thread while no run of this context is under
  // way.
  void begin(const StepView& step);

  const Graph& graph() const { return *graph_; }
  const Kernels& kernels() const { return graph_->kernels; }
  const StepView& step() const { return step_; }
  // Returns the sizes of the step, from which ops count their work.
  StepSizes sizes() const;
  const KvView& kv() const { return kv_; }
  uint32_t rows(ValueId id) const {
    const RowSet rows = graph_->values[id].rows;
    if (rows == RowSet::kTokens) return step_.rows();
    if (rows == RowSet::kOutputs) return static_cast<uint32_t>(step_.outputs.size());
    if (rows == RowSet::kChoices) return step_.rows() * graph_->chosen;
    return rows == RowSet::kOne ? 1 : first_pages_.back();
  }
  // Returns which row of a RowSet::kPages value is an item's first page. The pages of one item
  // follow those of the item before.
  uint32_t first_page(const StepItem& item) const {
    return first_pages_[static_cast<size_t>(&item - step_.items.data())];
  }
  bool wants(ValueId id, ActFormat format) const {
    return graph_->values[id].formats >> static_cast<unsigned>(format) & 1;
  }
  const ActBuffer& buffer(ValueId id, ActFormat format) const {
    return buffers_[id][static_cast<size_t>(format)];
  }
  ActView view(ValueId id, ActFormat format) const { return act_view(buffer(id, format)); }
  // Returns the value's rows in f32, which lie f32_stride() floats apart.
  float* f32(ValueId id) const { return buffer(id, ActFormat::kF32).f32; }
  size_t f32_stride(ValueId id) const { return buffer(id, ActFormat::kF32).row_stride; }

  // Claims the next index in [0, count) of a counter in this run; returns `count` if none is left.
  uint32_t claim(uint32_t counter, uint32_t count) { return counters_[counter]->next(run_, count); }
  // Claims several consecutive indices of a counter that `takers` threads share
  // (ChunkCounter::next_several).
  ChunkClaim claim_several(uint32_t counter, uint32_t count, uint32_t takers) {
    return counters_[counter]->next_several(run_, count, takers);
  }

  // Threads of an op tell each other by flags how far they are: post() posts a flag for this run,
  // and wait_for() waits until the flag is posted.
  void post(uint32_t flag) { flags_[flag]->post(run_); }
  // Adds `count` arrivals to a flag, for work that several threads do. The thread that brings the
  // sum to `expected` posts the flag.
  void arrive(uint32_t flag, uint32_t count, uint32_t expected) {
    flags_[flag]->arrive(count, expected, run_);
  }
  void wait_for(uint32_t flag) { flags_[flag]->wait_at_least(run_); }

  // Returns the local shards (counted from the first of the member's group) whose tasks the member
  // claims, nearest first; empty for a member that rests.
  const std::vector<uint32_t>& local_shards(uint32_t member) const { return local_shards_[member]; }

  // Waits until the worker's group, or in lockstep all groups, have finished the node.
  void sync(const Worker& worker) noexcept {
    if (barriers_.size() == 1) {
      barriers_[0].arrive_and_wait(worker.place);
    } else {
      barriers_[worker.group].arrive_and_wait(worker.index);
    }
  }
  // Returns the flag by which group `from` tells the worker at `place`, a member of another group,
  // how far the group is.
  Flag& flag_from(uint32_t from, uint32_t place) {
    return *stations_[station_of_worker_[place]][from];
  }
  // Return the flags by which group `from` tells all other groups, or only group 0, how far it is.
  std::span<Flag* const> flags_posted(uint32_t from) const { return flags_posted_[from]; }
  std::span<Flag* const> flags_posted_serial(uint32_t from) const {
    return flags_posted_serial_[from];
  }
  // Returns the number that, with a node's sync_index added, is the epoch of flags in this run.
  uint32_t sync_base() const { return run_ * graph_->sync_count; }

 private:
  void place_activations(const std::vector<std::byte*>& bases);
  void place_sync(const std::vector<std::byte*>& bases);
  void count_pages();

  const Graph* graph_;
  KvView kv_;
  StepView step_;
  std::vector<uint32_t> first_pages_;                // by item; last, all pages
  uint32_t run_ = 0;                                 // counts begin()
  std::vector<std::vector<uint32_t>> local_shards_;  // by member
  std::vector<std::array<ActBuffer, kActFormats>> buffers_;
  std::vector<ChunkCounter*> counters_;
  std::vector<Flag*> flags_;
  std::vector<Barrier> barriers_;             // of each group; in lockstep one of all
  std::vector<std::vector<Flag*>> stations_;  // [SyncLayout's station][group that posts]
  std::vector<uint32_t> station_of_worker_;   // by Worker::place
  std::vector<std::vector<Flag*>> flags_posted_, flags_posted_serial_;  // by group that posts
};

// The contexts of one run: one that all groups read, or one for each group. The contexts of the
// groups have equal graphs and the same memory, so their contents are equal; each lies on its
// group's node. begin() must be called on each.
class RunContexts {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): one context is all groups'
  RunContexts(ExecutionContext& one) : one_(&one) {}
  explicit RunContexts(std::span<ExecutionContext* const> by_group)
      : one_(by_group[0]), by_group_(by_group) {}

  ExecutionContext& of(uint32_t group) const {
    return by_group_.empty() ? *one_ : *by_group_[group];
  }

 private:
  ExecutionContext* one_;
  std::span<ExecutionContext* const> by_group_;
};

}  // namespace hearth
