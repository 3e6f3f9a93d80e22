// EngineLayout: the decisions of an engine before it touches memory: options, seats, shards and
// plans, all sizes, and the number of KV pages that there is room for. If a node is too small for
// its shard, the other nodes get more of the model.
//
// Throws Error: kResource if memory is short (with both figures), kUsage for impossible options,
// such as KV pages that hold no context.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/engine_options.h"
#include "engine/engine_plan.h"
#include "graph/state_view.h"
#include "graph/step_view.h"
#include "models/core_graph.h"
#include "models/model.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"

namespace hearth {

struct MemoryUse {
  size_t weights = 0, kv = 0, activations = 0;
  size_t states = 0;   // the states of sequences (graph/state_view.h)
  size_t scratch = 0;  // the threads' scratch, and the words that threads wait on
  size_t logits = 0;   // logits and hidden states
  size_t total() const { return weights + kv + states + activations + scratch + logits; }
};

// Bytes that the graph of a phase needs.
struct PhaseSizes {
  std::vector<size_t> activations;  // by group
  std::vector<size_t> sync;         // by shard
};

struct EngineLayout {
  EngineOptions options;  // settled
  EnginePlan plan;
  GraphLimits limits;
  PhaseSizes prefill, decode;
  KvView kv;                         // the layout of KV pages, which have no memory yet
  StateView states;                  // the layout of states, which have no memory yet
  uint32_t kv_pages_wanted = 0;      // KV pages that there would be if memory allowed it
  std::vector<size_t> weight_bytes;  // by shard
  std::vector<size_t> logit_bytes;   // by shard
  size_t hidden_bytes = 0;           // on shard 0

  const PhaseSizes& sizes(Phase phase) const { return phase == Phase::kPrefill ? prefill : decode; }
  const std::vector<uint32_t>& member_shards() const { return plan.decode.member_shards; }
  uint32_t shard_count() const { return static_cast<uint32_t>(plan.shard_nodes.size()); }

  // Returns the activations of the groups on the shard: the larger of the two phases' bytes, since
  // the phases never run at the same time.
  size_t activation_bytes(uint32_t shard) const;
  // Returns the bytes of both phases' flags and counters on the shard. The phases share none of
  // them, since each phase goes on from the epochs of its last run.
  size_t sync_bytes(uint32_t shard) const;
  // Returns the bytes on the shard's node besides weights, keys and values; states are included.
  size_t work_bytes(uint32_t shard) const;
  size_t shard_bytes(uint32_t shard) const;
  MemoryUse memory() const;
};

// Lays out an engine that loads the model itself.
EngineLayout lay_out_engine(const ModelSpec& spec, const Machine& machine, Isa isa,
                            const EngineOptions& options);
// Lays out an existing engine for other plans and schedules; all else is unchanged. Throws Error
// (kUsage) if the plan would change threads, shards or the most rows of a step, if its groups need
// more copies of latents than the KV pages have, or if a schedule is not on its menu.
EngineLayout lay_out_again(const EngineLayout& now, const Model& model, Isa isa, EnginePlan plan,
                           const ScheduleTable& schedules);
// Lays out an engine on a loaded model, whose shards stay where they are.
EngineLayout lay_out_engine(const Model& model, const Machine& machine, Isa isa,
                            const EngineOptions& options);

}  // namespace hearth
