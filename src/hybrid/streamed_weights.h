// The weights of a model that is larger than an accelerator's memory: vectors and the matrices of
// the first layers lie there for good, those of the others in turn, in berths. A berth is the room
// of one layer's matrices; the layers that are not kept take the berths one after another.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "accelerator/accelerator.h"
#include "hybrid/layer_runs.h"
#include "hybrid/pass_weights.h"

namespace hearth {

class StreamedWeights : public PassWeights {
 public:
  // Copies the vectors and the first `kept` layers, and takes the memory of `berths` (at least one,
  // where layers are left). The model outlives this, and keeps its bytes. Throws Error (kResource)
  // where memory is short.
  StreamedWeights(const Model& model, Accelerator& accelerator, uint32_t kept, uint32_t berths);

  ShardPlace shard(const Weight& weight, uint32_t s) const override;
  Place vector(const VectorWeight* weight) const override {
    return weight == nullptr ? Place{} : vectors_.at(weight);
  }
  bool has_tables() const override { return false; }

  uint32_t kept() const { return kept_; }
  uint32_t berths() const { return static_cast<uint32_t>(berths_.size()); }
  // What of the host's memory makes a layer, and where its first byte lies while it is there.
  const LayerRuns& runs(uint32_t layer) const { return runs_[layer]; }
  Place room(uint32_t layer) const;

 private:
  const uint32_t kept_;
  std::vector<LayerRuns> runs_;
  std::vector<Buffer> buffers_;
  std::vector<Place> kept_places_;
  std::vector<Buffer> berths_;
  std::unordered_map<const VectorWeight*, Place> vectors_;
  std::unordered_map<const Weight*, uint32_t> layers_;  // whose each is
};

// Bytes of the largest layer from `first` on.
uint64_t largest_layer(std::span<const LayerRuns> layers, uint32_t first);

}  // namespace hearth
