// Embedder: an engine turns texts, as tokens, into vectors, or pairs of texts into scores. Texts of
// any length are packed into steps by their tokens, without padding. A model that keeps no keys and
// values takes each text whole, as an item of one step. A decoder reads a long text in several
// steps, and releases its pages after the last.
//
// A vector's bits depend on the model, the text's tokens, the ISA level and how the weights are cut
// (the numerical contract). They do not depend on other texts, their order, steps, threads or
// groups.
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

// The default number of tokens of a step. More tokens gain little: a product of so many rows is
// already bound by arithmetic, and their activations would leave the caches.
inline constexpr uint32_t kEmbedStepTokens = 1024;

// How a reranker scores a pair.
struct Scoring {
  std::optional<YesNo> words;  // the two words, for a model without a head that scores
};

struct EmbedOptions {
  PoolingType pooling = PoolingType::kMean;
  bool normalise = true;  // vectors to length 1; scores never are
  // If set, texts are pairs, and the one element of a vector is the pair's score.
  std::optional<Scoring> scoring = {};
};

// A text, or a pair of texts that are read together.
struct EmbedText {
  std::span<const int32_t> tokens;
  uint32_t second = 0;  // the first token of the second text; 0: there is no second one
};

// Returns the options of an engine that embeds, made of the options asked for. `prefill_rows`, the
// tokens of a step, become at least as many as those of a text that must be taken whole. A context
// of 0 becomes the model's own. For a decoder it is at most kDefaultContext, and there are pages
// for one such text and for the texts of one step.
EngineOptions embed_engine_options(const ModelSpec& spec, PoolingType pooling,
                                   EngineOptions options);

class Embedder {
 public:
  // The engine must have embed_engine_options() of the same pooling, and no other code may step it.
  Embedder(Engine& engine, const EmbedOptions& options);
  // Makes an embedder on an engine without a loaded model. `options` must have no `scoring`, since
  // a head's weights come from that model.
  Embedder(PassEngine& engine, const EmbedOptions& options);

  // Returns how many elements a vector has.
  uint32_t width() const { return head_ ? 1 : engine_.spec().hyper.width; }
  // Returns the most tokens that a text may have.
  uint32_t context() const { return engine_.context(); }

  // Returns a vector [width] for each text, in their order. Throws Error (kRequest), before
  // anything is computed, for a text without tokens, with more than context() or with one outside
  // the vocabulary; and kFile if a vector or a score is not finite.
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
