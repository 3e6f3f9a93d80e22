// Shared by the ops over fused Q, K, V rows: which heads a group works on, and where keys and
// values lie in a step. They lie in pages of the KV cache, or in a value of the graph
// (RowSet::kPages), each of whose rows holds a page of every KV head of the group.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/context.h"
#include "graph/ops/attention.h"

namespace hearth {

// The heads of one shard that a group works on, and where their rows stand in its Q, K, V value.
// The first and the last KV head may have query heads on other shards too.
struct HeadSlice {
  uint32_t shard;
  UnitRange queries, kv;  // of the whole model; `kv`: heads that `queries` read
  uint32_t cached;        // index of the first KV head in the shard's KV pages
  uint32_t q_column, k_column, v_column;

  UnitRange queries_of(uint32_t kv_head, uint32_t group_size) const {
    return {std::max(queries.begin, kv_head * group_size),
            std::min(queries.end, (kv_head + 1) * group_size)};
  }
};

// Returns the slices of a group's part of `qkv`, by local shard.
std::vector<HeadSlice> head_slices(const LinearOut& qkv, uint32_t group,
                                   const AttentionShape& shape);

class GroupKvPages {
 public:
  // Makes the pages of group g. `kv`: the values of all groups, or nothing if keys and values are
  // cached.
  GroupKvPages(const Bundle& kv, uint32_t g, const std::vector<HeadSlice>& heads,
               const AttentionShape& shape);

  // Returns the floats of a row of the group's RowSet::kPages value.
  static uint32_t row_floats(const std::vector<HeadSlice>& heads, const AttentionShape& shape);

  bool cached() const { return !value_; }
  KvType type(const ExecutionContext& context) const {
    return cached() ? context.kv().type() : KvType::kF32;
  }
  // Returns the position of an item's first row, counted from the start of its pages.
  uint32_t first_position(const StepItem& item) const { return cached() ? item.first_position : 0; }
  // Returns an item's page number `page`, with positions from kPagePositions * page on. `head` is a
  // KV head counted from the first of heads[slot].
  KvPage page(const ExecutionContext& context, uint32_t slot, const StepItem& item, uint32_t page,
              uint32_t head) const {
    const Slot& place = slots_[slot];
    if (cached()) {
      const KvView& kv = context.kv();
      const uint32_t id = item.pages_of(kv.kind(layer_))[page];
      return kv.page(place.shard, layer_, id, place.head + head);
    }
    const size_t row = size_t{context.first_page(item)} + page;
    float* k = context.f32(*value_) + row * context.f32_stride(*value_) +
               size_t{place.head + head} * head_floats_;
    return {reinterpret_cast<std::byte*>(k), reinterpret_cast<std::byte*>(k + key_floats_)};
  }

 private:
  struct Slot {
    uint32_t shard;
    uint32_t head;  // the first KV head's index in the shard's cache, or in the group's value
  };
  std::optional<ValueId> value_;
  uint32_t layer_;
  uint32_t key_floats_, head_floats_;  // of a page: a head's keys, and all of it
  std::vector<Slot> slots_;
};

}  // namespace hearth
