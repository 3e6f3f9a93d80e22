// Which heads of the fused Q, K, V rows a group works on: what the ops over them share.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/ops/attention.h"

namespace hearth {

// The heads of one shard that a group works on, and where their rows stand in its Q, K, V value.
// The first and the last KV head may have query heads on other shards too.
struct HeadSlice {
  uint32_t shard;
  UnitRange queries, kv;  // of the whole model; `kv` is what `queries` belong to
  uint32_t cached;        // place of the first KV head in the shard's KV pages
  uint32_t q_column, k_column, v_column;

  UnitRange queries_of(uint32_t kv_head, uint32_t group_size) const {
    return {std::max(queries.begin, kv_head * group_size),
            std::min(queries.end, (kv_head + 1) * group_size)};
  }
};

// By local shard, of a group's part of `qkv`.
std::vector<HeadSlice> head_slices(const LinearOut& qkv, uint32_t group,
                                   const AttentionShape& shape);

}  // namespace hearth
