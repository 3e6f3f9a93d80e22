// StepEngine: steps over sequences. A step is a ragged list of {sequence, tokens, wanted results}.
// It is checked, laid out as a StepView, and run by the cores (Engine) or by another processor
// (PassEngine). Used by one thread.
//
// A model that keeps no keys and values from step to step (an encoder) takes all tokens of a
// sequence in one step.
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

// The results that a step gives for a request's rows: kLast, the logits of the last row, to sample
// from (best()); kAll, the logits of all rows; or hidden states (the final norm's output, which the
// LM head would read) of all rows, of the first or of the last.
enum class Want : uint8_t { kNothing, kLast, kAll, kHidden, kHiddenFirst, kHiddenLast };

struct StepRequest {
  Sequence* sequence;
  std::span<const int32_t> tokens;
  Want want;
  // The index in `tokens` of the first token of the second type, where a pair's second text begins.
  // 0: there is none.
  uint32_t second = 0;
  // The number of the first `tokens` whose rows are scored after the step (Engine::score()).
  // Nothing else may be wanted of those rows.
  uint32_t scored = 0;
  // Whether full pages are filed for other sequences after the step (Sequence::publish()).
  bool publishes = false;
};

class StepEngine {
 public:
  // Returns true to end the step at a layer. One thread calls it at every layer, and it must not
  // throw.
  using Abandon = std::function<bool()>;

  virtual ~StepEngine() = default;
  virtual const ModelSpec& spec() const = 0;
  // Returns the options with every default chosen (settle_options()).
  virtual const EngineOptions& options() const = 0;
  uint32_t context() const { return options().context; }

  KvPool& pool() { return *pool_; }
  // Returns null if the model keeps no states.
  const StatePool* states() const { return states_.get(); }
  // Returns null if all layers keep all positions.
  const WindowPool* windows() const { return windows_.get(); }
  // Returns how many pages of each kind may be taken.
  PageCounts available_pages() const {
    return {pool_->available(), windows_ ? windows_->available() : 0};
  }
  // `prompt` is the number of its first tokens that are known now. In a model with latents it
  // decides which rows are expanded (ExpandRule), and so their last bits. `streamed`: as in
  // SequenceForms.
  std::unique_ptr<Sequence> new_sequence(uint32_t prompt = 0, uint32_t streamed = 0) {
    const uint32_t expanded = spec().has_latents() ? options().expand.positions(prompt) : 0;
    return std::make_unique<Sequence>(*pool_, SequenceForms{expanded, streamed}, states_.get(),
                                      windows_.get());
  }

  // Computes one step. The requests must name different sequences, at most `items` if the model
  // keeps no keys and values. Together they may have at most prefill_rows tokens, `outputs` rows of
  // logits and `hidden_rows` rows of hidden states; rows are scored only if `scored_rows` is not 0.
  // Throws Error (kRequest) if a sequence would outgrow the context, a token is outside the
  // vocabulary, or no KV page or place for a state is free; then nothing has changed. Returns false
  // if the step was abandoned, and throws the errors of computing it. Then nothing has changed
  // either, except that sequences whose state was overwritten are back at a kept state
  // (Sequence::truncate()).
  bool step(std::span<const StepRequest> requests, const Abandon* abandon = nullptr);
  // Returns row i of the step's hidden states: [width].
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
  // Computes a step that is laid out except for the logits. Returns false if it was abandoned.
  virtual bool run(StepView step, const Abandon* abandon) = 0;

  void check(std::span<const StepRequest> requests) const;
  StateMove grow(std::span<const StepRequest> requests, const StepRequest& request);
  void lay_out(std::span<const StepRequest> requests);

  void finish(std::span<const StepRequest> requests);

  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<StatePool> states_;
  std::unique_ptr<WindowPool> windows_;
  float* hidden_ = nullptr;
  StepView view_;  // a view of the members below
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> positions_, row_items_;
  std::vector<uint32_t> outputs_;  // rows of logits, scored rows, then rows of hidden states
  std::vector<uint8_t> sampled_;   // rows of logits
  std::vector<uint8_t> second_;    // 1 for rows of the second type, if the model has one
  std::vector<StepItem> items_;
};

}  // namespace hearth
