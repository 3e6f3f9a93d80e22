// The engine: steps over sequences on a lane. A step is a ragged list of {sequence, tokens, what is
// wanted}; the number of tokens picks the phase's plan, hence graph. All results are the same to
// the bit however tokens are spread over steps (the numerical contract).
//
// Everything is allocated when the engine is made, but for what other plans need (set_plan()); its
// size is known from the model, the plans and the options before anything is loaded
// (engine_layout.h). Used by one thread, which works as member 0 of the team.
//
// A model that keeps no keys and values from step to step (an encoder) takes each sequence's tokens
// in one step, all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine_layout.h"
#include "engine/engine_memory.h"
#include "engine/kv_pool.h"
#include "engine/lane.h"
#include "engine/sequence.h"
#include "engine/step_logits.h"
#include "engine/token_scores.h"
#include "graph/step_runner.h"

namespace hearth {

// Says what a step gives for a request's rows: logits of the last, to sample from (best()); logits
// of all; or the hidden states (the final norm's output, which the LM head would read) of all, of
// the first or of the last.
enum class Want : uint8_t { kNothing, kLast, kAll, kHidden, kHiddenFirst, kHiddenLast };

struct StepRequest {
  Sequence* sequence;
  std::span<const int32_t> tokens;
  Want want;
  // From this one of `tokens` on they are of the second type: a pair's second text. 0: none is.
  uint32_t second = 0;
  // The rows of so many of `tokens`, the first ones, are scored behind the step (score()), where
  // nothing else is wanted of them.
  uint32_t scored = 0;
};

class Engine {
 public:
  // `report(done, total)`: bytes of the source packed so far, from the calling thread.
  using Report = std::function<void(size_t done, size_t total)>;

  // Loads the model of `spec`, which was made of `source`, with a policy that leaves nothing open
  // (engine/choose_weights.h).
  Engine(const ModelSource& source, const ModelSpec& spec, const Machine& machine, Isa isa,
         const EngineOptions& options, const Report& report = {});
  // Works on a model that is loaded, beside others that do.
  Engine(std::shared_ptr<const Model> model, const Machine& machine, Isa isa,
         const EngineOptions& options);

  // Its weights point into the source, which may be gone.
  const ModelSpec& spec() const { return model_->spec(); }
  const std::shared_ptr<const Model>& model() const { return model_; }
  Lane& lane() { return *lane_; }
  const EngineOptions& options() const { return layout_.options; }
  uint32_t context() const { return layout_.options.context; }
  Isa isa() const { return isa_; }
  // These tell what lies where, and how much.
  const MemoryUse& memory() const { return memory_use_; }
  const std::vector<MemoryRegion>& regions() const { return memory_->regions(); }
  std::vector<NodeMemory> node_memory() const { return memory_->by_node(placement()); }
  // The plan that steps run under now, and another one from the next step on: other groups, other
  // members at work, another number of rows up to which a step is decode's. Sequences go on, and
  // all results stay the same to the bit. Threads, shards, shares and prefill's rows are those of
  // before, and of a model with latents no phase may have more groups on a shard than the engine
  // was made with, which are as many as its pages have copies of them. Throws (kUsage) for other
  // plans, and kResource where memory is short; then nothing has changed. It builds the graphs anew
  // (graph() of before is gone), and for that time needs the memory of both plans.
  const EnginePlan& plan() const { return layout_.plan; }
  void set_plan(const EnginePlan& plan) { set_plan(plan, layout_.options.schedules); }
  // Other schedules, too, from the next step on.
  void set_plan(const EnginePlan& plan, const ScheduleTable& schedules);
  const Graph& graph(Phase phase) const { return lane_->graph(phase); }
  uint32_t threads() const { return lane_->team().size(); }
  const Placement& placement() const { return layout_.plan.placement; }
  // Where everything else may run without disturbing the threads; empty where no core is left.
  const std::vector<uint32_t>& spare_pus() const { return spare_pus_; }
  // The threads, for who works on them between steps.
  Team& team() { return lane_->team(); }
  // Tells what did not go as planned, such as a thread that could not be pinned.
  std::vector<std::string> warnings() const;

  KvPool& pool() { return *pool_; }
  // `prompt`: how many tokens it begins with that are known now; of a model with latents that says
  // which of its rows are expanded (ExpandRule), and so their last bits.
  std::unique_ptr<Sequence> new_sequence(uint32_t prompt = 0) {
    return std::make_unique<Sequence>(
        *pool_, spec().has_latents() ? options().expand.positions(prompt) : 0);
  }

  // Asked by one thread at every layer; true ends the step there. Must not throw.
  using Abandon = std::function<bool()>;

  // One step. The requests name different sequences, `items` at most where the model keeps no keys
  // and values, and in all at most prefill_rows tokens, `outputs` rows of logits and `hidden_rows`
  // rows of hidden states; rows are scored where `scored_rows` is not 0. Throws (kRequest) where a
  // sequence would outgrow the context, a token is outside the vocabulary, or no KV page is free.
  // False where the step was abandoned. In both cases nothing has changed.
  bool step(std::span<const StepRequest> requests, const Abandon* abandon = nullptr);
  // From the next step on they are computed by that, and not by the threads; only hidden states may
  // be wanted then, and no step is abandoned. What it throws leaves step() with nothing changed.
  void compute_by(std::unique_ptr<StepRunner> runner) { runner_ = std::move(runner); }
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
  // Row i of its hidden states: [width].
  std::span<const float> hidden(size_t i) const;

  // Any number of tokens of one sequence, in as many steps as it takes; the logits of the last one
  // are then logits(0).
  void prefill(Sequence& sequence, std::span<const int32_t> tokens);

  // Turned on, every step that follows is timed, from zero (graph/profile.h).
  void set_profiling(bool on) { lane_->set_profiling(on); }
  // Sums up the steps timed since on this phase's graph; empty where profiling never was on.
  ProfileSummary profile(Phase phase) const { return lane_->profile(phase); }

 private:
  void start(const Machine& machine, EngineLayout layout, std::unique_ptr<Team> team);
  void copy_page(uint32_t from, uint32_t to) const;
  void check(std::span<const StepRequest> requests) const;
  void lay_out(std::span<const StepRequest> requests);
  StepView view();

  Isa isa_;
  Machine machine_;
  EngineLayout layout_;
  std::vector<uint32_t> spare_pus_;
  MemoryUse memory_use_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<EngineMemory> memory_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<StepLogits> logits_;     // `outputs` rows, then those that are scored
  std::vector<ShardLogits> scored_parts_;  // these
  std::unique_ptr<TokenScorer> scorer_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<StepRunner> runner_;  // or null: the lane computes

  // The step under way.
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> positions_, row_items_;
  std::vector<uint32_t> outputs_;  // rows of logits, scored rows, then rows of hidden states
  uint32_t logit_rows_ = 0, scored_rows_ = 0;
  std::vector<uint8_t> sampled_;  // rows of logits
  std::vector<uint8_t> second_;   // rows of the second type, where the model has one
  std::vector<StepItem> items_;
};

}  // namespace hearth
