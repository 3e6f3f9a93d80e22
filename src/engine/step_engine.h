// StepEngine: steps over sequences, whoever computes them. A step is a ragged list of {sequence,
// tokens, what is wanted}; it is checked, laid out as a StepView and run, by the cores (Engine) or
// by something else (PassEngine). Used by one thread.
//
// A model that keeps no keys and values from step to step (an encoder) takes each sequence's tokens
// in one step, all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine_options.h"
#include "engine/kv_pool.h"
#include "engine/sequence.h"
#include "engine/state_pool.h"
#include "engine/window_pool.h"
#include "graph/step_view.h"
#include "models/model_spec.h"

namespace hearth {

// Says what a step gives for a request's rows: logits of the last, to sample from (best()); logits
// of all; or the hidden states (the final norm's output, which the LM head would read) of all, of
// the first or of the last.
enum class Want : uint8_t { kNothing, kLast, kAll, kHidden, kHiddenFirst, kHiddenLast };

struct StepRequest {
  Sequence* sequence;
  std::span<const int32_t> tokens;
  Want want;
  // The first of `tokens` that is of the second type: a pair's second text begins there. 0: none
  // is.
  uint32_t second = 0;
  // How many of `tokens`, the first ones, have their rows scored behind the step (Engine::score());
  // nothing else may be wanted of those rows.
  uint32_t scored = 0;
  // Full pages are filed for others behind the step (Sequence::publish()).
  bool publishes = false;
};

class StepEngine {
 public:
  // Asked by one thread at every layer; true ends the step there. Must not throw.
  using Abandon = std::function<bool()>;

  virtual ~StepEngine() = default;
  virtual const ModelSpec& spec() const = 0;
  // Returns the options with every default chosen (settle_options()).
  virtual const EngineOptions& options() const = 0;
  uint32_t context() const { return options().context; }

  KvPool& pool() { return *pool_; }
  // Null where the model keeps no states.
  const StatePool* states() const { return states_.get(); }
  // Null where all layers keep all positions.
  const WindowPool* windows() const { return windows_.get(); }
  // Returns how many pages of each kind may be taken.
  PageCounts available_pages() const {
    return {pool_->available(), windows_ ? windows_->available() : 0};
  }
  // `prompt`: how many tokens it begins with that are known now; of a model with latents that says
  // which of its rows are expanded (ExpandRule), and so their last bits. `streamed`: as in
  // SequenceForms.
  std::unique_ptr<Sequence> new_sequence(uint32_t prompt = 0, uint32_t streamed = 0) {
    const uint32_t expanded = spec().has_latents() ? options().expand.positions(prompt) : 0;
    return std::make_unique<Sequence>(*pool_, SequenceForms{expanded, streamed}, states_.get(),
                                      windows_.get());
  }

  // One step. The requests name different sequences, `items` at most where the model keeps no keys
  // and values, and in all at most prefill_rows tokens, `outputs` rows of logits and `hidden_rows`
  // rows of hidden states; rows are scored where `scored_rows` is not 0. Throws (kRequest) where a
  // sequence would outgrow the context, a token is outside the vocabulary, or no KV page or place
  // for a state is free; then nothing has changed. False where the step was abandoned, and throws
  // what computing it throws; then nothing has changed either, but that sequences whose state was
  // overwritten are back where one is kept (Sequence::truncate()).
  bool step(std::span<const StepRequest> requests, const Abandon* abandon = nullptr);
  // Row i of its hidden states: [width].
  std::span<const float> hidden(size_t i) const;

 protected:
  // The pools of pages and states, which are set before the first step.
  struct Pools {
    std::unique_ptr<KvPool> pages;
    std::unique_ptr<StatePool> states = {};    // or null: the model keeps none
    std::unique_ptr<WindowPool> windows = {};  // or null: all layers keep all positions
  };
  void give_memory(Pools pools, float* hidden);

  // Returns the view of the step under way, or of the last one.
  const StepView& view() const { return view_; }
  uint32_t scored_rows() const { return view_.later_rows; }

 private:
  // Computes a step that is laid out but for the logits. False where it was abandoned.
  virtual bool run(StepView step, const Abandon* abandon) = 0;

  void check(std::span<const StepRequest> requests) const;
  StateMove grow(std::span<const StepRequest> requests, const StepRequest& request);
  void lay_out(std::span<const StepRequest> requests);

  void finish(std::span<const StepRequest> requests);

  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<StatePool> states_;
  std::unique_ptr<WindowPool> windows_;
  float* hidden_ = nullptr;
  StepView view_;  // of these
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> positions_, row_items_;
  std::vector<uint32_t> outputs_;  // rows of logits, scored rows, then rows of hidden states
  std::vector<uint8_t> sampled_;   // rows of logits
  std::vector<uint8_t> second_;    // rows of the second type, where the model has one
  std::vector<StepItem> items_;
};

}  // namespace hearth
