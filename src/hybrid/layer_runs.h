// The matrices of a layer are runs of each shard's arena, since a Model packs them in the order of
// its spec: what is copied to an accelerator when a layer is. Routed experts, which are copied by
// themselves (expert_batches.h), part a layer's run in two.
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
  uint64_t offset = 0;  // among the layer's runs, laid side by side at multiples of 256 bytes
};

struct LayerRuns {
  std::vector<LayerRun> runs;  // by shard; shards without matrices of the layer have none
  uint64_t bytes = 0;          // of all, side by side
};

// Returns for each layer the runs of all matrices but those of routed experts. The first copy
// counts of a matrix that every shard has. The model's weights must have their places.
std::vector<LayerRuns> layer_runs(const Model& model);

}  // namespace hearth
