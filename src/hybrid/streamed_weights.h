// The weights of a model that is larger than an accelerator's memory: vectors and the matrices of
// the first layers lie there for good, those of the others in turn, in berths (OSDI'26, "hybrid
// MoE", 3.1).
//
// A layer's matrices are parts: its routed experts in batches (expert_batches.h), and the rest. The
// rest has a berth of its own kind, which the layers that are not kept take one after another.
// Batches take the berths of a ring, which all layers share, in the order in which they are
// multiplied: as long as there is a free one, experts are copied, whatever layer they are of. Of
// the last layer, of which a pass wants keys and values alone, no experts are wanted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "accelerator/accelerator.h"
#include "hybrid/expert_batches.h"
#include "hybrid/layer_runs.h"
#include "hybrid/pass_weights.h"

namespace hearth {

// How much of a model is on an accelerator at a time.
struct StreamedRoom {
  uint32_t kept = 0;                    // layers, the first ones
  uint32_t berths = 0;                  // for the rest of the others
  uint32_t ring = 0, expert_batch = 0;  // berths for batches, and experts of a batch at most
  uint32_t kept_batch = 0;              // the same of layers that are kept

  uint32_t most_experts(uint32_t layer) const {
    return std::max(layer < kept ? kept_batch : expert_batch, 1u);
  }
};

class StreamedWeights : public PassWeights {
 public:
  // Copies the vectors and the layers that are kept, and takes the memory of the berths (one of a
  // kind at least, where there is something to be copied there). The model outlives this, and keeps
  // its bytes. Throws Error (kResource) where memory is short.
  StreamedWeights(const Model& model, Accelerator& accelerator, const StreamedRoom& room);

  ShardPlace shard(const Weight& weight, uint32_t s) const override;
  Place vector(const VectorWeight* weight) const override {
    return weight == nullptr ? Place{} : vectors_.at(weight);
  }
  std::span<const ExpertBatch> batches(uint32_t layer) const override { return batches_[layer]; }
  bool has_tables() const override { return false; }

  // Berths of both kinds.
  uint32_t berths() const { return berths_; }

  // The host's memory that makes a part, and the place of its first byte while it is there.
  struct Held {
    std::vector<LayerRun> runs;
    Place room;

    uint64_t bytes() const { return runs.back().offset + runs.back().bytes; }
  };
  const Held& held(const LayerPart& part) const { return parts_[part.layer][index_of(part)]; }

  // The copies of a pass, in this order, and the berth of each. Stages use parts in such an order
  // that the former part of a berth is used before anything that is copied after it: a wait for a
  // berth always ends.
  struct Load {
    LayerPart part;
    uint32_t berth;
  };
  const std::vector<Load>& loads() const { return loads_; }
  // Returns the part's number among the loads; none where the part is kept.
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
  std::vector<std::vector<Held>> parts_;           // by layer: the rest, then its batches
  std::vector<Load> loads_;
  std::vector<std::vector<size_t>> load_numbers_;  // as parts_, of layers that are not kept
  std::vector<Buffer> buffers_;
  uint32_t berths_ = 0;  // for the rest, then those of the ring
  std::unordered_map<const VectorWeight*, Place> vectors_;
  std::unordered_map<const Weight*, uint32_t> layers_;  // whose each is
};

// Bytes of the largest layer from `first` on.
uint64_t largest_layer(std::span<const LayerRuns> layers, uint32_t first);

}  // namespace hearth
