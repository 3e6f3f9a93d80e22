// The weights of a placed and packed model (models/model.h) in an accelerator's memory: matrices by
// shard, as they are packed, and vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "accelerator/accelerator.h"
#include "models/model.h"

namespace hearth {

struct ShardPlace {
  Place codes, scales;
};

class AcceleratorWeights {
 public:
  // Copies them. Throws Error (kResource) where memory is short, with both figures.
  AcceleratorWeights(const Model& model, Accelerator& accelerator);

  const Model& model() const { return model_; }
  // Empty shards have no place.
  const ShardPlace& shard(const Weight& weight, uint32_t s) const {
    return matrices_.at(&weight)[s];
  }
  // None of null.
  Place vector(const VectorWeight* weight) const {
    return weight == nullptr ? Place{} : vectors_.at(weight);
  }

 private:
  const Model& model_;
  std::vector<Buffer> buffers_;
  std::unordered_map<const Weight*, std::vector<ShardPlace>> matrices_;
  std::unordered_map<const VectorWeight*, Place> vectors_;
};

}  // namespace hearth
