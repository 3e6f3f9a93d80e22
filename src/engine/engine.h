// The engine: steps over sequences (engine/step_engine.h) on a lane. The number of a step's tokens
// chooses the phase's plan, and so the graph. All results are the same to the bit however tokens
// are spread over steps (the numerical contract).
//
// Everything is allocated when the engine is made, except the memory of other plans (set_plan()).
// Sizes are known from the model, the plans and the options before anything is loaded
// (engine_layout.h). One thread uses an engine, and works as member 0 of the team.
//
// A sequence of a model that keeps states (graph/state_view.h) holds one of `sequences` places;
// `kept_states` more may be kept for others (engine/state_pool.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine_layout.h"
#include "engine/engine_memory.h"
#include "engine/lane.h"
#include "engine/step_engine.h"
#include "engine/step_logits.h"
#include "engine/token_scores.h"
#include "hybrid/stream_plan.h"

namespace hearth {

// `report(done, total)`: bytes of the source packed so far, from the calling thread.
using LoadReport = std::function<void(size_t done, size_t total)>;

// Loads the model of `spec`, which was made of `source` with a policy that is not automatic
// (engine/choose_weights.h). The weights lie where an engine with these options would place them.
// The calling thread is pinned during the call as member 0 of the team that packs; the team ends
// with the call.
std::shared_ptr<Model> load_model(const ModelSource& source, const ModelSpec& spec,
                                  const Machine& machine, Isa isa, const EngineOptions& options,
                                  const LoadReport& report = {});

class Engine : public StepEngine {
 public:
  // Loads the model of `spec` as load_model() does.
  Engine(const ModelSource& source, const ModelSpec& spec, const Machine& machine, Isa isa,
         const EngineOptions& options, const LoadReport& report = {});
  // Makes an engine on a loaded model, which other engines may share.
  Engine(std::shared_ptr<const Model> model, const Machine& machine, Isa isa,
         const EngineOptions& options);

  // Returns the spec. Its weights point into the source, which may no longer exist.
  const ModelSpec& spec() const override { return model_->spec(); }
  const std::shared_ptr<const Model>& model() const { return model_; }
  Lane& lane() { return *lane_; }
  const EngineOptions& options() const override { return layout_.options; }
  Isa isa() const { return isa_; }
  // Return how much memory the engine takes, in all, by region and by node.
  const MemoryUse& memory() const { return memory_use_; }
  const std::vector<MemoryRegion>& regions() const { return memory_->regions(); }
  // Returns the bytes of one sequence's state, on all shards; 0 where the model keeps none.
  size_t state_bytes() const { return layout_.states.slot_bytes(); }
  std::vector<NodeMemory> node_memory() const { return memory_->by_node(placement()); }
  // plan() returns the plan that steps run under, and set_plan() sets another one from the next
  // step on. The new plan may have other groups, other members at work, and another number of rows
  // up to which a step runs under the decode plan. Sequences go on, and all results stay the same
  // to the bit. Threads, shards, shares and prefill's rows must not change. In a model with latents
  // no phase may have more groups on a shard than the engine was made with, since each KV page has
  // a copy of the latents for each of those groups. Throws Error (kUsage) for other plans, and
  // kResource if memory is short; then nothing has changed. Graphs are built anew, so references to
  // graph() end, and meanwhile the memory of both plans is needed.
  const EnginePlan& plan() const { return layout_.plan; }
  void set_plan(const EnginePlan& plan) { set_plan(plan, layout_.options.schedules); }
  // Sets the plan and other schedules, too, from the next step on.
  void set_plan(const EnginePlan& plan, const ScheduleTable& schedules);
  const Graph& graph(Phase phase) const { return lane_->graph(phase); }
  uint32_t threads() const { return lane_->team().size(); }
  const Placement& placement() const { return layout_.plan.placement; }
  // Returns the PUs on which all other work may run without disturbing the threads; empty if no
  // core is left.
  const std::vector<uint32_t>& spare_pus() const { return spare_pus_; }
  // Returns the engine's threads, for work between steps.
  Team& team() { return lane_->team(); }
  // Returns the model and KV memory that prefill passes on an accelerator read and fill; valid as
  // long as the engine is.
  PassTarget pass_target() const {
    return {model_, &memory_->kv(), memory_->kv_memory(), context(), options().expand};
  }
  // Returns sentences on what did not go as planned, such as a thread that could not be pinned.
  std::vector<std::string> warnings() const;

  // Returns row i of the last step's rows of logits, in the order of the requests: [vocabulary]. It
  // is valid until this member of the team asks for another row.
  std::span<const float> logits(size_t i, uint32_t member = 0) const;
  // Returns the `count` likeliest of tokens [0, below) by row i, which must be of a request that
  // wants kLast. The result is that of top_tokens() on logits(i), but not all logits are read. It
  // is empty if not all of their logits are finite, and valid until this member's next call.
  std::span<const TokenLogit> best(size_t i, uint32_t count, uint32_t below,
                                   uint32_t member = 0) const;
  // Calls job(member) on every thread that worked on the last step. Each of these threads may read
  // that step's logits.
  template <typename Job>
  void on_workers(Job&& job) {
    lane_->on_workers(job);
  }
  // Scores a token by each of the last step's scored rows, in the order of the requests; `below` as
  // in best(). The head computes these rows' logits now, `scored_rows` at a time, and the team
  // reads them. Asks `abandon` before every such run, and returns false if it ended the work. The
  // step's other results stay valid.
  bool score(std::span<ScoredToken> tokens, uint32_t below, const Abandon* abandon = nullptr);
  // Computes any number of tokens of one sequence, in as many steps as that takes; logits(0) are
  // then those of the last one.
  void prefill(Sequence& sequence, std::span<const int32_t> tokens);

  // Turns profiling on or off. While it is on, every step is timed; sums begin at zero
  // (graph/profile.h).
  void set_profiling(bool on) { lane_->set_profiling(on); }
  // Returns the sums over the steps timed so far on this phase's graph; empty without profiling.
  ProfileSummary profile(Phase phase) const { return lane_->profile(phase); }

 private:
  void start(const Machine& machine, EngineLayout layout, std::unique_ptr<Team> team);
  Pools make_pools();
  KvPool::CopyPage page_copier(KvKind kind) const;
  bool run(StepView step, const Abandon* abandon) override;

  Isa isa_;
  Machine machine_;
  EngineLayout layout_;
  std::vector<uint32_t> spare_pus_;
  MemoryUse memory_use_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<EngineMemory> memory_;
  std::unique_ptr<StepLogits> logits_;     // `outputs` rows, then those that are scored
  std::vector<ShardLogits> scored_parts_;  // the scored rows of logits_, by shard
  std::unique_ptr<TokenScorer> scorer_;
  std::unique_ptr<Lane> lane_;
};

}  // namespace hearth
