// The places of a model's weights in an accelerator's memory, for a pass. The model is placed and
// packed (models/model.h). Either all weights stay on the accelerator (accelerator_weights.h), or
// the layers take turns there (streamed_weights.h).
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

// A part of a layer: one batch of its routed experts, or all its matrices except routed experts.
struct LayerPart {
  uint32_t layer = 0;
  std::optional<uint32_t> batch = {};
};

class PassWeights {
 public:
  explicit PassWeights(const Model& model) : model_(model) {}
  virtual ~PassWeights() = default;

  // Returns the model. Its descriptions can be used, but the host may have freed the weights'
  // bytes.
  const Model& model() const { return model_; }
  // Returns the places of shard s, which must have some of the weight.
  virtual ShardPlace shard(const Weight& weight, uint32_t s) const = 0;
  // Returns the place of a vector. For null it is an empty place.
  virtual Place vector(const VectorWeight* weight) const = 0;
  // Returns the batches in which a layer's routed experts are multiplied.
  virtual std::span<const ExpertBatch> batches(uint32_t) const { return {}; }
  // Whether the embedding tables are on the accelerator. If not, the host reads their rows.
  virtual bool has_tables() const = 0;

 private:
  const Model& model_;
};

}  // namespace hearth
