// The routed experts of a layer in the order in which an accelerator multiplies and adds them
// (graph/ops/experts.h): by shard, then by segment of the shard, then in ascending order. The bytes
// that a shard has of an expert lie together in its arena. Those of its next expert follow at a
// multiple of kExpertAlign. So one copy can take several neighbouring experts of a segment, which
// are a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/ops/experts.h"
#include "models/model.h"

namespace hearth {

struct ExpertBatch {
  uint32_t shard = 0, segment = 0;
  std::vector<uint32_t> experts;     // ascending
  const std::byte* first = nullptr;  // of the shard's bytes of these experts
  uint64_t stride = 0;               // bytes from expert to expert, a multiple of kExpertAlign
  uint64_t bytes = 0;                // of all of them

  // Whether the experts' numbers have no gap. They may have gaps where whole experts are dealt to
  // shards.
  bool on_end() const { return experts.back() - experts.front() + 1 == experts.size(); }
};

std::vector<ExpertWeights> experts_of(const WeightTable& table, const ExpertsBlock& block);

// Returns the batches of a layer, with at most `most` experts each; none for a layer without
// experts. The model's weights must have their places.
std::vector<ExpertBatch> expert_batches(const Model& model, uint32_t layer, uint32_t most);

}  // namespace hearth
