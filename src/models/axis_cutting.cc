#include "models/axis_cutting.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tensor/pack_spec.h"

namespace hearth {

namespace {

CutHeads cut_in_units(uint32_t kv_heads, uint32_t group_size, uint32_t columns,
                      std::span<const uint32_t> shares, uint32_t unit_heads) {
  uint32_t slices = group_size / unit_heads;
  AxisCuts heads(kv_heads * slices, block_granule(unit_heads, columns), shares, slices);
  return {{heads, unit_heads}, {heads.widened(slices), 1}};
}

// Returns the most work that a shard has for its share, in query heads: a row range of Q and a
// column range of O each. A KV head's rows of K and V count as much, and its cache counts as much
// again. The cache has that size at a certain depth: 1152 positions of f16 if the width is 4096 and
// a weight has 4.5 bits. Prompts are bound by arithmetic, which goes by query heads; decode far
// beyond that depth is bound by the cache, which goes by KV heads. This count lies between.
double busiest(const CutHeads& cut, std::span<const uint32_t> shares) {
  double most = 0;
  for (uint32_t s = 0; s < shares.size(); ++s) {
    uint32_t work =
        cut.heads.cuts.shard(s).size() * cut.heads.unit_items + 2 * cut.kv.cuts.shard(s).size();
    if (work > 0) most = std::max(most, static_cast<double>(work) / shares[s]);
  }
  return most;
}

}  // namespace

uint32_t block_granule(uint32_t heads, uint32_t columns) {
  return kBlock / std::gcd(kBlock, heads * columns);
}

// Cuts by KV head unless a finer cut makes the work of the busiest shard (busiest()) an eighth
// less, since copies of caches take memory. With 4 query heads a KV head, 2 KV heads on 4 shards
// are work of 6, 6, 0 and 0; a finer cut makes it 4 on each shard. 3 KV heads on 2 shards are work
// of 12 and 6; a finer cut makes it 10 on each. 2 KV heads on 3 shards are not cut: with 3, 2 and 3
// query heads the middle shard would have both KV heads, and as much work as 4 query heads with one
// KV head.
CutHeads cut_heads(uint32_t heads, uint32_t kv_heads, uint32_t columns,
                   std::span<const uint32_t> shares) {
  uint32_t group_size = heads / kv_heads;
  CutHeads best = cut_in_units(kv_heads, group_size, columns, shares, group_size);
  for (uint32_t unit = group_size - 1; unit > 0; --unit) {
    if (group_size % unit != 0) continue;
    CutHeads finer = cut_in_units(kv_heads, group_size, columns, shares, unit);
    if (8 * busiest(finer, shares) <= 7 * busiest(best, shares)) best = finer;
  }
  return best;
}

const char* expert_cut_name(ExpertCut cut) { return cut == ExpertCut::kCut ? "cut" : "spread"; }

std::optional<ExpertCut> expert_cut_named(std::string_view name) {
  for (ExpertCut cut : {ExpertCut::kCut, ExpertCut::kSpread}) {
    if (name == expert_cut_name(cut)) return cut;
  }
  return {};
}

// Deals the experts out: each goes to the shard with the smallest (dealt + 1) / share.
ExpertDealing deal_experts(const ModelSpec& spec, std::span<const uint32_t> shares, ExpertCut cut) {
  if (cut == ExpertCut::kCut || shares.size() == 1) return {};
  ExpertDealing dealing;
  std::vector<uint64_t> dealt(shares.size(), 0);
  for (uint32_t e = 0; e < spec.expert_count(); ++e) {
    size_t next = shares.size();
    for (size_t s = 0; s < shares.size(); ++s) {
      if (shares[s] == 0) continue;
      // Compares (dealt + 1) / share without rounding, and keeps the first of equal shards.
      if (next == shares.size() || (dealt[s] + 1) * shares[next] < (dealt[next] + 1) * shares[s]) {
        next = s;
      }
    }
    ++dealt[next];
    dealing.push_back(static_cast<uint32_t>(next));
  }
  return dealing;
}

std::vector<CutAxis> cut_axes(const ModelSpec& spec, std::span<const uint32_t> shares) {
  std::vector<std::optional<CutAxis>> cut(spec.axes.size());
  for (AxisId id = 0; id < spec.axes.size(); ++id) {
    const AxisSpec& axis = spec.axes[id];
    if (!axis.kv_axis) continue;
    CutHeads both =
        cut_heads(axis.items, spec.axes[*axis.kv_axis].items, axis.item_columns, shares);
    cut[id] = both.heads;
    cut[*axis.kv_axis] = both.kv;
  }
  std::vector<CutAxis> axes;
  for (AxisId id = 0; id < spec.axes.size(); ++id) {
    uint32_t unit = spec.axes[id].unit_items;
    uint32_t units = (spec.axes[id].items + unit - 1) / unit;
    axes.push_back(cut[id] ? *cut[id] : CutAxis{AxisCuts(units, 1, shares), unit});
  }
  return axes;
}

}  // namespace hearth
