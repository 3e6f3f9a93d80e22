// Shared by the ops of latent attention: which heads and which copies of the latents a group works
// on.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/context.h"
#include "graph/ops/latent.h"
#include "graph/slices.h"

namespace hearth {

// The heads of one shard that a group works on, and where they begin in its values of queries and
// of mixes.
struct LatentHeads {
  uint32_t shard;
  UnitRange heads;  // of the whole model
  uint32_t query_column, mix_column;
};

// Returns the columns of a head in the values of queries. They also hold an expanded row's result,
// which takes its query's place.
inline uint32_t query_stride(const LatentShape& shape) {
  return padded_length(std::max({shape.cached_length(), shape.query_length(), shape.value_length}));
}
inline uint32_t mix_stride(const LatentShape& shape) {
  return (shape.kv_lora_rank + kBlock - 1) / kBlock * kBlock;
}

// Returns the heads of the group's share, by local shard.
inline std::vector<LatentHeads> latent_heads(const LatentShape& shape, const Weight& key,
                                             const GroupShare& share) {
  std::vector<LatentHeads> all;
  uint32_t ignored = 0, before = 0;
  for (const RowSlice& slice : row_slices(key, share, &ignored)) {
    const uint32_t begin = slice.row / shape.kv_lora_rank;
    const uint32_t count = slice.rows / shape.kv_lora_rank;
    all.push_back({slice.shard,
                   {begin, begin + count},
                   before * query_stride(shape),
                   before * mix_stride(shape)});
    before += count;
  }
  return all;
}

inline uint32_t head_count(const std::vector<LatentHeads>& heads) {
  uint32_t count = 0;
  for (const LatentHeads& of_shard : heads) count += of_shard.heads.size();
  return count;
}

inline bool is_expanded(const StepView& step, uint32_t row) noexcept {
  const StepItem& item = step.items[step.row_items[row]];
  return row - item.first_row < item.expanded;
}

// Returns how many rows of a step are expanded.
inline uint32_t expanded_rows(std::span<const StepItem> items) noexcept {
  uint32_t rows = 0;
  for (const StepItem& item : items) rows += item.expanded;
  return rows;
}

// Divides rows [row, row + m) into runs that are expanded or absorbed as a whole, and calls
// run(expanded, begin, end) for each, with begin and end counted from `row`.
template <typename Run>
void for_forms(const StepView& step, uint32_t row, uint32_t m, const Run& run) noexcept {
  for (uint32_t begin = 0, end = 0; begin < m; begin = end) {
    const bool expanded = is_expanded(step, row + begin);
    while (end < m && is_expanded(step, row + end) == expanded) ++end;
    run(expanded, begin, end);
  }
}

// Returns the copies of a shard's latents that a group with part i of n of the shard writes; the
// group reads the first copy. Other plans may divide the shard among more groups, or fewer.
inline UnitRange latent_copies(const ExecutionContext& context, const GroupShare& share,
                               uint32_t shard, uint32_t layer) noexcept {
  const uint32_t copies = context.kv().heads(shard, layer);
  return {copies * share.part / share.parts, copies * (share.part + 1) / share.parts};
}

}  // namespace hearth
