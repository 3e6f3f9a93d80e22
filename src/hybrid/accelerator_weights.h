// The weights of a placed and packed model (models/model.h) in an accelerator's memory: matrices by
// shard in their packed form, and vectors.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "accelerator/accelerator.h"
#include "hybrid/pass_weights.h"

namespace hearth {

class AcceleratorWeights : public PassWeights {
 public:
  // Copies all weights. Throws Error (kResource) where memory is short; the message has both sizes.
  AcceleratorWeights(const Model& model, Accelerator& accelerator);

  ShardPlace shard(const Weight& weight, uint32_t s) const override {
    return matrices_.at(&weight)[s];
  }
  Place vector(const VectorWeight* weight) const override {
    return weight == nullptr ? Place{} : vectors_.at(weight);
  }
  bool has_tables() const override { return true; }

 private:
  std::vector<Buffer> buffers_;
  std::unordered_map<const Weight*, std::vector<ShardPlace>> matrices_;
  std::unordered_map<const VectorWeight*, Place> vectors_;
};

}  // namespace hearth
