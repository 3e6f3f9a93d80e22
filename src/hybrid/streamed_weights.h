// The weights of a model that is larger than an accelerator's memory. Vectors and the matrices of
// the first layers stay there for good; matrices of the other layers take turns in berths (OSDI'26,
// "hybrid MoE", 3.1).
//
// A layer's matrices form parts: batches of its routed experts (expert_batches.h), and the rest.
// The rests have berths of their own, which the layers that are not kept take one after another.
// Batches take the berths of a ring, which all layers share, in the order in which they are
// multiplied. So experts are copied as long as a berth of the ring is free, whatever layer they
// belong to. No experts of the last layer are copied, since a pass wants only its keys and values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "accelerator/accelerator.h"
#include "hybrid/expert_batches.h"
#include "hybrid/layer_runs.h"
#include "hybrid/pass_weights.h"

namespace hearth {

// The numbers of layers and berths that a model has on an accelerator at a time.
struct StreamedRoom {
  uint32_t kept = 0;                    // the number of first layers that stay
  uint32_t berths = 0;                  // for the rests of the other layers
  uint32_t ring = 0, expert_batch = 0;  // berths for batches, and the most experts of a batch
  uint32_t kept_batch = 0;              // the most experts of a batch in kept layers

  uint32_t max_experts(uint32_t layer) const {
    return std::max(layer < kept ? kept_batch : expert_batch, 1u);
  }
};

class StreamedWeights : public PassWeights {
 public:
  // Copies the vectors and the kept layers, and takes the memory of the berths. Each kind of berths
  // that something is copied to needs at least one berth. The model outlives this, and keeps its
  // bytes. Throws Error (kResource) where memory is short.
  StreamedWeights(const Model& model, Accelerator& accelerator, const StreamedRoom& room);

  ShardPlace shard(const Weight& weight, uint32_t s) const override;
  Place vector(const VectorWeight* weight) const override {
    return weight == nullptr ? Place{} : vectors_.at(weight);
  }
  std::span<const ExpertBatch> batches(uint32_t layer) const override { return batches_[layer]; }
  bool has_tables() const override { return false; }

  // The number of berths of both kinds.
  uint32_t berths() const { return static_cast<uint32_t>(berths_.size()); }
  // Returns the bytes of a berth of the ring; 0: there is no ring.
  uint64_t ring_berth_bytes() const { return ring_berth_bytes_; }
  // Lays the ring of the next pass: its own berths, and then the berths at `more`, as far as a
  // layer has batches for them. The parts that earlier passes copied to the ring count as gone. The
  // places outlive the pass.
  void lay_ring(std::span<const Place> more);

  // A part's bytes in the host's memory, and the place of its first byte on the accelerator.
  struct Held {
    std::vector<LayerRun> runs;
    Place room;

    uint64_t bytes() const { return runs.back().offset + runs.back().bytes; }
  };
  const Held& held(const LayerPart& part) const { return parts_[part.layer][index_of(part)]; }

  // The copies of a pass in their order, and the berth of each. Stages use parts in an order in
  // which a berth's earlier part is used before any part that is copied after it. So every wait for
  // a berth ends.
  struct Load {
    LayerPart part;
    uint32_t berth;
  };
  const std::vector<Load>& loads() const { return loads_; }
  // Returns the part's index in loads(); none where the part is kept.
  std::optional<size_t> load_of(const LayerPart& part) const;

 private:
  // Returns the number of a part in its layer.
  static size_t index_of(const LayerPart& part) { return part.batch ? *part.batch + 1 : 0; }
  void lay_out_parts(const Model& model);
  void upload_vectors(const Model& model, Accelerator& accelerator);
  void keep(Accelerator& accelerator);
  void make_berths(Accelerator& accelerator);
  void place_parts();

  StreamedRoom room_;
  std::vector<std::vector<ExpertBatch>> batches_;  // by layer
  std::vector<std::vector<Held>> parts_;           // by layer: its rest, then its batches
  std::vector<Load> loads_;
  // The loads' indices by layer and part, as parts_; empty for kept layers.
  std::vector<std::vector<size_t>> load_numbers_;
  std::vector<Buffer> buffers_;
  std::vector<Place> berths_;  // berths for rests, then those of the ring
  uint64_t ring_berth_bytes_ = 0;
  std::unordered_map<const VectorWeight*, Place> vectors_;
  std::unordered_map<const Weight*, uint32_t> layers_;  // the layer of each matrix
};

// Returns the bytes of the largest layer from `first` on, without routed experts.
uint64_t largest_layer(std::span<const LayerRuns> layers, uint32_t first);

}  // namespace hearth
