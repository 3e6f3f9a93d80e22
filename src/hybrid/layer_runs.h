// The runs of bytes in each shard's arena that hold a layer's matrices. Copying these runs copies
// the layer to an accelerator. They are few, since a Model packs matrices in the order of its spec.
// Routed experts are copied separately (expert_batches.h). They lie between other matrices of the
// layer, which so have two runs.
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
  uint64_t offset = 0;  // in the copy, where each run begins at a multiple of 256 bytes
};

struct LayerRuns {
  std::vector<LayerRun> runs;  // by shard; a shard without matrices of the layer has none
  uint64_t bytes = 0;          // of a copy of all runs
};

// Returns for each layer the runs of all matrices except those of routed experts. If every shard
// has a copy of a matrix, only the first shard's runs have it. The model's weights must have their
// places.
std::vector<LayerRuns> layer_runs(const Model& model);

}  // namespace hearth
