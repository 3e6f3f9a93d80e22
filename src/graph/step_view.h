// A step as ops see it: a ragged list of sequences' tokens. Filled by the engine, constant while
// the graph runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention/attention.h"
#include "tensor/pack_spec.h"

namespace hearth {

// Positions of a sequence, at most.
inline constexpr uint32_t kMaxContext = 1u << 20;

// The rows of one sequence: tokens at positions first_position, first_position + 1, ...
struct StepItem {
  uint32_t first_row;
  uint32_t rows;
  uint32_t first_position;
  const uint32_t* pages;  // pages[p / kPagePositions] is the id of the page that holds position p
};

// A shard's columns of the step's logits, on its node.
struct LogitsPart {
  uint32_t panels = 0;      // the shard's rows of the LM head
  float* logits = nullptr;  // [logit_rows][panels x 16]
  // [logit_rows][panels]: the largest of each (kernels/maximum/maximum.h), in sampled rows.
  float* maxima = nullptr;

  size_t columns() const { return size_t{panels} * kPanelRows; }
  float* row(size_t r) const { return logits + r * columns(); }
  float* row_maxima(size_t r) const { return maxima + r * panels; }
};

struct StepView {
  std::span<const int32_t> tokens;      // [rows]
  std::span<const uint32_t> positions;  // [rows]
  std::span<const uint32_t> row_items;  // [rows]: the item of each row
  std::span<const StepItem> items;
  // Rows that something is wanted of: first those of which logits, then those of which hidden
  // states (the final norm's output).
  std::span<const uint32_t> outputs;
  uint32_t logit_rows = 0;
  std::span<const LogitsPart> logits;  // by shard
  std::span<const uint8_t> sampled;    // [logit_rows]: 1 where tokens are sampled from the row
  float* hidden = nullptr;             // [outputs - logit_rows][width]

  uint32_t rows() const { return static_cast<uint32_t>(tokens.size()); }
};

// Where the pages of keys and values lie: per shard one region, pages of all layers and of the
// shard's KV heads in it. Page ids are shared by layers and shards.
struct KvView {
  struct ShardRegion {
    std::byte* base = nullptr;
    uint32_t heads = 0;
  };
  KvType type = KvType::kF16;
  uint32_t head_dim = 0;
  uint32_t page_count = 0;
  std::vector<ShardRegion> shards;

  size_t half_bytes() const { return kv_half_bytes(type, head_dim); }
  size_t shard_bytes(uint32_t layers, uint32_t heads) const {
    return size_t{layers} * page_count * heads * 2 * half_bytes();
  }
  KvPage page(uint32_t shard, uint32_t layer, uint32_t page_id, uint32_t head) const {
    const ShardRegion& region = shards[shard];
    size_t index = (size_t{layer} * page_count + page_id) * region.heads + head;
    std::byte* k = region.base + index * 2 * half_bytes();
    return {k, k + half_bytes()};
  }
};

}  // namespace hearth
