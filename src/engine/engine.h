// The engine: steps over sequences (engine/step_engine.h) on a lane. The number of a step's tokens
// picks the phase's plan, hence graph. All results are the same to the bit however tokens are
// spread over steps (the numerical contract).
//
// Everything is allocated when the engine is made, but for what other plans need (set_plan()); its
// size is known from the model, the plans and the options before anything is loaded
// (engine_layout.h). Used by one thread, which works as member 0 of the team.
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

// Loads the model of `spec`, which was made of `source`, with a policy that leaves nothing open
// (engine/choose_weights.h), placed as an engine with these options would have it. The calling
// thread is pinned meanwhile as member 0 of those that pack; they are gone afterwards.
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

  // Returns the spec. Its weights point into the source, which may be gone.
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
  // Return the plan that steps run under, and set another one from the next step on: other groups,
  // other members at work, another number of rows up to which a step runs under the decode plan.
  // Sequences go on, and all results stay the same to the bit. Threads, shards, shares and
  // prefill's rows are those of before, and of a model with latents no phase may have more groups
  // on a shard than the engine was made with, which are as many as its pages have copies of them.
  // Throws (kUsage) for other plans, and kResource where memory is short; then nothing has changed.
  // It builds the graphs anew (graph() of before is gone), and for that time needs the memory of
  // both plans.
  const EnginePlan& plan() const { return layout_.plan; }
  void set_plan(const EnginePlan& plan) { set_plan(plan, layout_.options.schedules); }
  // Sets the plan and other schedules, too, from the next step on.
  void set_plan(const EnginePlan& plan, const ScheduleTable& schedules);
  const Graph& graph(Phase phase) const { return lane_->graph(phase); }
  uint32_t threads() const { return lane_->team().size(); }
  const Placement& placement() const { return layout_.plan.placement; }
  // Returns the PUs on which everything else may run without disturbing the threads; empty where no
  // core is left.
  const std::vector<uint32_t>& spare_pus() const { return spare_pus_; }
  // Returns the engine's threads, for work between steps.
  Team& team() { return lane_->team(); }
  // Returns the model and KV memory that prefill passes on an accelerator read and fill; valid as
  // long as the engine is.
  PassTarget pass_target() const {
    return {model_, &memory_->kv(), memory_->kv_memory(), context(), options().expand};
  }
  // Tells what did not go as planned, such as a thread that could not be pinned.
  std::vector<std::string> warnings() const;

  // Row i of the last step's rows of logits, in the order of the requests: [vocabulary]. Valid
  // until this member of the team asks for another row.
  std::span<const float> logits(size_t i, uint32_t member = 0) const;
  // The `count` likeliest of tokens [0, below) by row i, where the want was kLast: the same as
  // top_tokens() of logits(i) gives, without reading it all. Empty where not all of their logits
  // are finite. Valid until this member's next call.
  std::span<const TokenLogit> best(size_t i, uint32_t count, uint32_t below,
                                   uint32_t member = 0) const;
  // Calls job(member) on every thread that worked on the last step; each may read its logits.
  template <typename Job>
  void on_workers(Job&& job) {
    lane_->on_workers(job);
  }
  // Scores a token by each of the last step's scored rows, in the order of the requests; `below`
  // as in best(). The head computes their logits now, `scored_rows` of them at a time, and the team
  // reads them. False where it was abandoned, which is asked before every time. The step's other
  // results stay.
  bool score(std::span<ScoredToken> tokens, uint32_t below, const Abandon* abandon = nullptr);
  // Computes any number of tokens of one sequence, in as many steps as that takes; logits(0) are
  // then those of the last one.
  void prefill(Sequence& sequence, std::span<const int32_t> tokens);

  // Turned on, every step that follows is timed, from zero (graph/profile.h).
  void set_profiling(bool on) { lane_->set_profiling(on); }
  // Sums up the steps timed since on this phase's graph; empty where profiling never was on.
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
