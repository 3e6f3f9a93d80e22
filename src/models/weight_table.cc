#include "models/weight_table.h"

#include "base/round_up.h"

namespace hearth {

Weight WeightTable::cut(const WeightSpec& weight, const std::vector<CutAxis>& axes,
                        const ExpertDealing& dealing) const {
  std::vector<bool> holders(shard_count_, weight.cut == WeightCut::kReplicated);
  const bool dealt = weight.expert >= 0 && !dealing.empty();
  if (dealt) holders[dealing[static_cast<size_t>(weight.expert)]] = true;
  if (dealt || weight.cut == WeightCut::kReplicated) {
    return whole_weight(weight.name, weight.packed, weight.rows, weight.k, holders);
  }
  const CutAxis& axis = axes[weight.axis];
  return cut_weight(weight.name, weight.packed, weight.rows, weight.k,
                    weight.cut == WeightCut::kRows ? CutBy::kRows : CutBy::kColumns, axis.cuts,
                    axis.unit_items * weight.item_size);
}

WeightTable::WeightTable(const ModelSpec& spec, const std::vector<CutAxis>& axes,
                         const ExpertDealing& dealing)
    : shard_count_(axes[0].cuts.shard_count()) {
  int expert = -1;
  for (const WeightSpec& weight : spec.weights) {
    place_.push_back(weight.is_matrix() ? matrices_.size() : vectors_.size());
    if (!weight.is_matrix()) {
      vectors_.push_back({weight.k, {}});
      continue;
    }
    matrices_.push_back(cut(weight, axes, dealing));
    matrices_.back().order = weight.input_order;
    if (weight.expert >= 0 && weight.expert != expert) matrices_.back().align = kExpertAlign;
    expert = weight.expert;
  }
}

size_t WeightTable::shard_bytes(uint32_t s) const {
  size_t bytes = 0;
  for (const VectorWeight& vector : vectors_) {
    bytes += round_up(vector.size * sizeof(float), kWeightAlign);
  }
  for (const Weight& weight : matrices_) {
    const PackSpec& spec = weight.shards[s].spec;
    if (spec.rows == 0 || spec.k == 0) continue;
    bytes = round_up(bytes, weight.align) + round_up(spec.codes_bytes(), kWeightAlign) +
            round_up(spec.scales_bytes(), kWeightAlign);
  }
  return bytes;
}

}  // namespace hearth
