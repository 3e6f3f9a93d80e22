// Cuts the axes of a model over shards. Each axis is cut once, for all weights on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/model_spec.h"
#include "tensor/axis_cuts.h"

namespace hearth {

struct CutAxis {
  AxisCuts cuts;
  uint32_t unit_items;  // items of the axis in a unit of the cuts
};

// Returns the cuts by AxisId, in proportion to `shares` (one a shard). An axis of query heads is
// cut by KV head. It is cut finer if that makes the busiest shard's work an eighth less. Then every
// shard that has some of a KV head's query heads computes its keys and values and caches them. In
// MHA each KV head has one query head, so no cut is finer.
std::vector<CutAxis> cut_axes(const ModelSpec& spec, std::span<const uint32_t> shares);

// How the experts of a mixture lie on shards: each cut along its FFN axis, as other weights, or
// whole, dealt to the shards in turn.
enum class ExpertCut : uint8_t { kCut, kSpread };
const char* expert_cut_name(ExpertCut cut);  // such as "cut"
// Returns the cut of that name, or none.
std::optional<ExpertCut> expert_cut_named(std::string_view name);

// The shard of each expert, by the expert's number. Whole experts are dealt to the shards in turn,
// so that neighbours lie apart. Empty if every expert is cut.
using ExpertDealing = std::vector<uint32_t>;
// Deals the experts out in proportion to `shares`.
ExpertDealing deal_experts(const ModelSpec& spec, std::span<const uint32_t> shares, ExpertCut cut);

// The cuts of query heads and of the KV heads that they belong to, which are cut together.
struct CutHeads {
  CutAxis heads, kv;
};
CutHeads cut_heads(uint32_t heads, uint32_t kv_heads, uint32_t columns,
                   std::span<const uint32_t> shares);

// Returns the smallest number of runs, each of `heads` query heads of `columns` columns, that makes
// whole blocks of 32 columns.
uint32_t block_granule(uint32_t heads, uint32_t columns);

}  // namespace hearth
