// The weights of a model on an accelerator whose memory is smaller than the model. Vectors, and the
// matrices of the first layers, stay there for good. Matrices of the other layers take turns in
// berths (OSDI'26, "hybrid MoE", 3.1).
//
// The matrices of a layer form parts: batches of its routed experts (expert_batches.h), and one
// part with all the others, called the rest. Rests have berths of their own, which the layers that
// are not kept use one after another. Batches use the berths of a ring, which all layers share, in
// the order in which batches are multiplied. So experts are copied as long as a berth of the ring
// is free, whatever layer they belong to. The last layer's experts are not copied, since a pass
// wants only that layer's keys and values.
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

// How much of a model an accelerator has room for at a time, in layers and berths.
struct StreamedRoom {
  uint32_t kept = 0;                    // how many of the first layers stay
  uint32_t berths = 0;                  // for the rests of all other layers
  uint32_t ring = 0, expert_batch = 0;  // berths for batches, and the most experts of a batch
  uint32_t kept_batch = 0;              // the most experts of a batch in kept layers

  uint32_t max_experts(uint32_t layer) const {
    return std::max(layer < kept ? kept_batch : expert_batch, 1u);
  }
};

class StreamedWeights : public PassWeights {
 public:
  // Copies the vectors and the kept layers, and allocates the berths. If anything must be copied to
  // a kind of berths, there must be one. The model and its bytes must outlive this object. Throws
  // Error (kResource) where memory is short.
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
  // Lays the ring for the next pass. The ring has its own berths, and then those at `more`, as many
  // as a layer has batches for. Parts that earlier passes copied to the ring are copied anew. The
  // places at `more` must outlive the pass.
  void lay_ring(std::span<const Place> more);

  // The bytes of a part: where they are in the host's memory, and on the accelerator.
  struct Held {
    std::vector<LayerRun> runs;
    Place room;

    uint64_t bytes() const { return runs.back().offset + runs.back().bytes; }
  };
  const Held& held(const LayerPart& part) const { return parts_[part.layer][index_of(part)]; }

  // The copies that a pass makes, in their order, each with its berth. Stages use the parts in such
  // an order that each part is used before another part is copied into its berth. So every wait for
  // a berth ends.
  struct Load {
    LayerPart part;
    uint32_t berth;
  };
  const std::vector<Load>& loads() const { return loads_; }
  // Returns the index of the part in loads(); none where the part is kept on the accelerator.
  std::optional<size_t> load_of(const LayerPart& part) const;

 private:
  // Returns the number of a part in its layer.
  static size_t index_of(const LayerPart& part) { return part.batch ? *part.batch + 1 : 0; }
  void lay_out_parts(const Model& model);
  void upload_vectors(const Model& model, Accelerator& accelerator);
  void keep(Accelerator& accelerator);
  void make_berths(Accelerator& accelerator);

  StreamedRoom room_;
  std::vector<std::vector<ExpertBatch>> batches_;  // by layer
  std::vector<std::vector<Held>> parts_;           // by layer: its rest, then its batches
  std::vector<Load> loads_;
  // [layer][part, as in parts_]: the index in loads_. Kept layers have none.
  std::vector<std::vector<size_t>> load_numbers_;
  std::vector<Buffer> buffers_;
  std::vector<Place> berths_;  // berths for rests, then those of the ring
  uint64_t ring_berth_bytes_ = 0;
  std::unordered_map<const VectorWeight*, Place> vectors_;
  std::unordered_map<const Weight*, uint32_t> layers_;  // the layer of each matrix
};

// Returns the bytes of the largest of the layers from `first` on. Routed experts do not count.
uint64_t largest_layer(std::span<const LayerRuns> layers, uint32_t first);

}  // namespace hearth
