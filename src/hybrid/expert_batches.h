// The routed experts of a layer in the order in which an accelerator multiplies and adds them
// (graph/ops/experts.h): a shard behind the other, of a shard its segments, of a segment its
// experts ascending. What a shard has of an expert is one run of its arena, and that of the shard's
// next expert lies behind it (kExpertAlign), so some that follow each other are one copy: a batch,
// of one segment.
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
  const std::byte* first = nullptr;  // of what the shard has of them
  uint64_t stride = 0;               // bytes from expert to expert, a multiple of kExpertAlign
  uint64_t bytes = 0;                // of all of them

  // Whether their numbers follow each other, as where experts are cut over the shards.
  bool on_end() const { return experts.back() - experts.front() + 1 == experts.size(); }
};

// The weights of a layer's routed experts.
std::vector<ExpertWeights> experts_of(const WeightTable& table, const ExpertsBlock& block);

// Returns the batches of a layer, with at most `most` experts each; none for a layer without
// experts. The model's weights must have their places.
std::vector<ExpertBatch> expert_batches(const Model& model, uint32_t layer, uint32_t most);

}  // namespace hearth
