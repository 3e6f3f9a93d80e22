// The runs of each shard's arena that hold a layer's matrices: a layer is copied to an accelerator
// as these runs. They are few, since a Model packs matrices in the order of its spec. Routed
// experts are copied by themselves (expert_batches.h), and divide a layer's run in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/model.h"

namespace hearth {

struct LayerRun {
  uint32_t shard = 0;
  const std::byte* first = nullptr;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // in a copy of the layer's runs, each at a multiple of 256 bytes
};

struct LayerRuns {
  std::vector<LayerRun> runs;  // by shard; a shard without matrices of the layer has none
  uint64_t bytes = 0;          // of a copy of all runs
};

// Returns for each layer the runs of all matrices but those of routed experts. A matrix that every
// shard has a copy of is in the first shard's runs alone. The model's weights must have their
// places.
std::vector<LayerRuns> layer_runs(const Model& model);

}  // namespace hearth
