// Where a pass finds the weights of a placed and packed model (models/model.h) in an accelerator's
// memory: all of them there for good (accelerator_weights.h), or layer after layer in turn
// (streamed_weights.h).
#pragma once

#include <cstdint>

#include "accelerator/place.h"
#include "models/model.h"

namespace hearth {

struct ShardPlace {
  Place codes, scales;
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
  // Whether tables of embeddings are there; else the host reads their rows.
  virtual bool has_tables() const = 0;

 private:
  const Model& model_;
};

}  // namespace hearth
