// The engine: a model loaded onto a team of threads, and steps over it. A step is a ragged list of
// {sequence, tokens, what is wanted}; the number of tokens picks the phase's plan, hence graph. All
// results are the same to the bit however tokens are spread over steps (the numerical contract).
//
// Everything is allocated when the engine is made; its size is known from the model, the plans and
// the options before anything is loaded, and refused (kResource, with both figures) where memory is
// short. Used by one thread, which works as member 0 of the team.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/kv_pool.h"
#include "engine/sequence.h"
#include "engine/step_logits.h"
#include "formats/gguf.h"
#include "graph/executor.h"
#include "graph/profile.h"
#include "memory/arena.h"
#include "models/registry.h"
#include "threads/team.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"

namespace hearth {

struct EnginePlan;

struct EngineOptions {
  // Who works where (engine_plan.h). `plan` is the text of a saved plan, which then says all of it;
  // empty: one is made from the others.
  std::string plan;
  uint32_t threads = 0;         // 0: default_thread_count()
  std::vector<uint32_t> nodes;  // machine nodes that threads may sit on; empty: all
  std::vector<uint32_t> pus;    // and PUs, by the operating system's numbers; empty: all allowed
  uint32_t shards = 0;          // nodes the weights are cut over; 0: all that have threads
  uint32_t prefill_groups = 0;  // 0: as many as shards
  uint32_t decode_groups = 0;
  GroupSync sync = GroupSync::kAsync;  // of both phases
  // Weights and KV pages lie on all nodes in turn, page by page, instead of beside their threads:
  // to measure what placing them is worth.
  bool interleave = false;
  uint32_t context = 0;  // positions per sequence; 0: the model's, at most kDefaultContext
  // KV pages, at least enough for one full context; 0: for `sequences` full contexts, or as many
  // pages as there is memory for.
  uint32_t kv_pages = 0;
  uint32_t sequences = 1;
  KvType kv_type = KvType::kF16;
  uint32_t prefill_rows = 512;  // tokens a step may have
  uint32_t decode_rows = 16;    // up to this many the decode plan works
  uint32_t outputs = 16;        // rows of logits a step may want
  uint32_t hidden_rows = 64;    // rows of hidden states a step may want
};
inline constexpr uint32_t kDefaultContext = 4096;

// What a step is to give of a request's rows: logits of the last, to sample from (best()); logits
// of all; or the hidden states of all (the final norm's output, which the LM head would read).
enum class Want : uint8_t { kNothing, kLast, kAll, kHidden };

struct StepRequest {
  Sequence* sequence;
  std::span<const int32_t> tokens;
  Want want;
};

struct MemoryUse {
  size_t weights = 0, kv = 0, activations = 0;
  size_t scratch = 0;  // of threads, and what they wait on
  size_t logits = 0;   // and hidden states
  size_t total() const { return weights + kv + activations + scratch + logits; }
};

// A piece of the engine's memory and where it was asked to lie.
enum class MemoryKind : uint8_t { kWeights, kKv, kActivations, kScratch, kLogits };
const char* memory_kind_name(MemoryKind kind);
struct MemoryRegion {
  MemoryKind kind;
  uint32_t shard;  // whose node it is for
  uint32_t node;   // index of Machine: that node, or the nearest with memory
  const std::byte* address;
  size_t bytes;
};

// What lies on a node, and who works there.
struct NodeMemory {
  uint32_t node = 0;  // index of Machine
  size_t weights = 0, kv = 0;
  size_t others = 0;  // activations, scratch, flags, logits
  size_t huge = 0;    // of all of it, in huge pages as the kernel tells; 0 where it doesn't
  uint32_t threads = 0;
};

class Engine {
 public:
  // `report(done, total)`: bytes of the file packed so far, from the calling thread.
  using Report = std::function<void(size_t done, size_t total)>;

  Engine(const GgufFile& file, const Machine& machine, Isa isa, const EngineOptions& options,
         const Report& report);

  const DecoderConfig& config() const { return config_; }
  uint32_t context() const { return options_.context; }
  const EngineOptions& options() const { return options_; }
  const MemoryUse& memory() const { return memory_; }
  // How long making the engine spent on its weights: reading them from the file and packing them.
  double packing_seconds() const { return packing_seconds_; }
  // What memory() counts, every byte once: a region for each kind and shard, scratch for each
  // thread. Fixed as long as the engine lives. With options().interleave weights and KV pages lie
  // on all nodes. Graphs are not in it: each group has its own on the heap of one of its threads;
  // nor pages of files, which lie wherever a thread first came.
  const std::vector<MemoryRegion>& regions() const { return regions_; }
  // The same by nodes, those with memory or threads, rising. Asks the kernel: slow.
  std::vector<NodeMemory> node_memory() const;
  const Graph& graph(Phase phase) const {
    return phase == Phase::kPrefill ? prefill_.graph : decode_.graph;
  }
  uint32_t threads() const { return team_->size(); }
  const Placement& placement() const { return placement_; }
  // Where everything else may run without disturbing the threads; empty where no core is left.
  const std::vector<uint32_t>& spare_pus() const { return spare_pus_; }
  // The threads, for who works on them between steps.
  Team& team() { return *team_; }
  Isa isa() const { return isa_; }
  // What did not go as planned, such as a thread that could not be pinned.
  std::vector<std::string> warnings() const;

  KvPool& pool() { return *pool_; }
  std::unique_ptr<Sequence> new_sequence() { return std::make_unique<Sequence>(*pool_); }

  // Asked by one thread at every layer; true ends the step there. Must not throw.
  using Abandon = std::function<bool()>;

  // One step. The requests name different sequences and in all at most prefill_rows tokens,
  // `outputs` rows of logits and `hidden_rows` rows of hidden states. Throws (kRequest) where a
  // sequence would outgrow the context, a token is outside the vocabulary, or no KV page is free.
  // False where the step was abandoned. In both cases nothing has changed.
  bool step(std::span<const StepRequest> requests, const Abandon* abandon = nullptr);
  // Row i of the last step's rows of logits, in the order of the requests: [vocabulary]. Valid
  // until another row is asked for.
  std::span<const float> logits(size_t i) const;
  // The `count` likeliest of tokens [0, below) by row i, where the want was kLast: the same as
  // top_tokens() of logits(i) gives, without reading it all. Empty where not all of their logits
  // are finite. Valid until the next call.
  std::span<const TokenLogit> best(size_t i, uint32_t count, uint32_t below) const;
  // Row i of its hidden states: [width].
  std::span<const float> hidden(size_t i) const;

  // Any number of tokens of one sequence, in as many steps as it takes; the logits of the last one
  // are then logits(0).
  void prefill(Sequence& sequence, std::span<const int32_t> tokens);

  // Turned on, every step that follows is timed, from zero (graph/profile.h).
  void set_profiling(bool on);
  // Of the steps timed since that ran on this phase's graph; empty where profiling never was on.
  ProfileSummary profile(Phase phase) const;

 private:
  // What a group's threads read besides weights and activations, for them alone.
  struct GroupCopy {
    std::unique_ptr<WeightStore> weights;
    Graph graph;
    std::unique_ptr<ExecutionContext> context;
  };
  struct PhasePart {
    Graph graph;
    std::unique_ptr<Executor> executor;
    std::vector<std::unique_ptr<GroupCopy>> copies;
    std::vector<ExecutionContext*> contexts;  // theirs
    std::unique_ptr<Profile> profile;
  };

  void cut(const GgufFile& file, const EnginePlan& layout);
  void cut_to_fit(const GgufFile& file, const Machine& machine, EnginePlan* layout);
  Graph build_graph(WeightStore& weights, const Plan& plan) const;
  KvView kv_layout() const;
  size_t activation_bytes(uint32_t shard) const;
  size_t sync_bytes(uint32_t shard) const;
  size_t kv_bytes(uint32_t shard) const;
  size_t least_kv_bytes(uint32_t shard) const;
  size_t hidden_bytes() const;
  size_t work_bytes(uint32_t shard) const;
  size_t shard_bytes(uint32_t shard) const;
  MemoryUse measure();
  void settle_kv_pages(const Machine& machine);
  void allocate(const Machine& machine);
  std::byte* take(MemoryKind kind, uint32_t shard, Arena& arena, size_t bytes, size_t align = 64);
  void start_phase(PhasePart* part);
  std::unique_ptr<GroupCopy> copy_for(const PlanGroup& group, const Plan& plan,
                                      const ContextMemory& memory);
  void check(std::span<const StepRequest> requests) const;
  void lay_out(std::span<const StepRequest> requests);
  void copy_page(uint32_t from, uint32_t to);

  EngineOptions options_;
  Isa isa_;
  const Architecture& architecture_;
  DecoderConfig config_;
  std::unique_ptr<DecoderAxes> axes_;
  std::unique_ptr<WeightStore> weights_;
  std::unique_ptr<Team> team_;
  Placement placement_;
  std::vector<uint32_t> spare_pus_;
  std::vector<uint32_t> member_shards_;
  std::vector<uint32_t> shard_nodes_;  // machine node of each shard
  MemoryUse memory_;
  double packing_seconds_ = 0;
  std::vector<Arena> weight_arenas_, kv_arenas_, work_arenas_;  // per shard
  std::vector<MemoryRegion> regions_;
  std::vector<std::byte*> scratch_;  // per member
  std::vector<std::byte*> shard_activations_;
  std::vector<std::byte*> shard_sync_;  // what no phase has taken yet
  std::unique_ptr<KvPool> pool_;
  KvView kv_;
  PhasePart prefill_, decode_;
  std::unique_ptr<StepLogits> logits_;
  float* hidden_ = nullptr;

  // The step under way.
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> positions_, row_items_;
  std::vector<uint32_t> outputs_;  // rows of logits, then rows of hidden states
  uint32_t logit_rows_ = 0;
  std::vector<uint8_t> sampled_;  // rows of logits
  std::vector<StepItem> items_;
};

}  // namespace hearth
