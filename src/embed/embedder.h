// Embedder: texts, as tokens, become vectors by an engine, or pairs of texts scores. Texts of any
// length are packed into steps by their tokens; nothing is padded. A model that keeps no keys and
// values takes each text whole, as an item of one step; a decoder reads a long text in several
// steps and lets go of its pages after the last.
//
// A vector's bits depend on the model, the text's tokens, the ISA level and how the weights are cut
// (the numerical contract): not on the texts beside it, their order, steps, threads or groups.
//
// Used by the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "embed/pooling.h"
#include "embed/score_head.h"
#include "engine/engine.h"
#include "engine/pass_engine.h"

namespace hearth {

// Tokens that a step may have by default. More change little: a product of so many rows is bound by
// arithmetic already, and their activations leave the caches.
inline constexpr uint32_t kEmbedStepTokens = 1024;

// How a reranker scores a pair.
struct Scoring {
  std::optional<YesNo> words;  // the two words, for a model without a head of its own
};

struct EmbedOptions {
  PoolingType pooling = PoolingType::kMean;
  bool normalise = true;  // vectors to length 1; scores never are
  // Set: texts are pairs, and the one element of a vector is the pair's score.
  std::optional<Scoring> scoring = {};
};

// A text, or a pair of texts that are read together.
struct EmbedText {
  std::span<const int32_t> tokens;
  uint32_t second = 0;  // the first token of the second text; 0: there is no second one
};

// The options of an engine that embeds, made of what is asked of it: `prefill_rows`, the tokens of
// a step, become at least as many as a text's that must be taken whole. A context of 0 becomes the
// model's own, of a decoder kDefaultContext at most, whose pages are for one such text and the
// texts of one step.
EngineOptions embed_engine_options(const ModelSpec& spec, PoolingType pooling,
                                   EngineOptions options);

class Embedder {
 public:
  // The engine has embed_engine_options() of the same pooling, and nobody else steps it meanwhile.
  Embedder(Engine& engine, const EmbedOptions& options);
  // Embeds with an engine that has no model at hand, so it scores nothing.
  Embedder(PassEngine& engine, const EmbedOptions& options);

  // Returns the elements of a vector.
  uint32_t width() const { return head_ ? 1 : engine_.spec().hyper.width; }
  // The most tokens a text may have.
  uint32_t context() const { return engine_.context(); }

  // Returns a vector [width] for each text, in their order. Throws (kRequest) for a text without
  // tokens, with more than context() or with one outside the vocabulary, before anything is
  // computed, and (kFile) where a vector or a score is not finite.
  std::vector<std::vector<float>> run(std::span<const EmbedText> texts);

 private:
  class Batch;

  void check(std::span<const EmbedText> texts) const;
  size_t step_tokens(std::span<const EmbedText> texts) const;
  std::vector<float> finish(Pooler* pooler) const;

  StepEngine& engine_;
  EmbedOptions options_;
  std::optional<ScoreHead> head_;
};

}  // namespace hearth
