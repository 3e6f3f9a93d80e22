// Where a pass finds the weights of a placed and packed model (models/model.h) in an accelerator's
// memory: all of them there for good (accelerator_weights.h), or layer after layer in turn
// (streamed_weights.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "accelerator/place.h"
#include "hybrid/expert_batches.h"
#include "models/model.h"

namespace hearth {

struct ShardPlace {
  Place codes, scales;
};

// Of a layer: a batch of its routed experts, or where it is none the rest.
struct LayerPart {
  uint32_t layer = 0;
  std::optional<uint32_t> batch = {};
};

class PassWeights {
 public:
  explicit PassWeights(const Model& model) : model_(model) {}
  virtual ~PassWeights() = default;

  // Its descriptions; the host's bytes may be gone.
  const Model& model() const { return model_; }
  // Of a shard that has some of it.
  virtual ShardPlace shard(const Weight& weight, uint32_t s) const = 0;
  // None of null.
  virtual Place vector(const VectorWeight* weight) const = 0;
  // In which a layer's routed experts are multiplied.
  virtual std::span<const ExpertBatch> batches(uint32_t) const { return {}; }
  // Whether tables of embeddings are there; else the host reads their rows.
  virtual bool has_tables() const = 0;

 private:
  const Model& model_;
};

}  // namespace hearth
