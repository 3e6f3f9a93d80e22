#include "models/weight_table.h"

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {

Weight WeightTable::place(const WeightSpec& weight, const std::vector<CutAxis>& axes,
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
    Key key{weight.layer, weight.role, weight.expert};
    if (!weight.is_matrix()) {
      vector_index_[key] = vectors_.size();
      vectors_.push_back({weight.k, {}});
      continue;
    }
    matrix_index_[key] = matrices_.size();
    matrices_.push_back(place(weight, axes, dealing));
    if (weight.expert >= 0 && weight.expert != expert) matrices_.back().align = kExpertAlign;
    expert = weight.expert;
  }
}

const Weight* WeightTable::matrix_or_null(int layer, WeightRole role) const {
  auto at = matrix_index_.find({layer, role, -1});
  return at == matrix_index_.end() ? nullptr : &matrices_[at->second];
}

const Weight& WeightTable::matrix(int layer, WeightRole role) const {
  const Weight* weight = matrix_or_null(layer, role);
  HEARTH_CHECK(weight != nullptr, "the architecture described the matrix that its graph reads");
  return *weight;
}

const Weight& WeightTable::expert_matrix(int layer, WeightRole role, uint32_t expert) const {
  auto at = matrix_index_.find({layer, role, static_cast<int>(expert)});
  HEARTH_CHECK(at != matrix_index_.end(), "the architecture described its experts");
  return matrices_[at->second];
}

const VectorWeight* WeightTable::vector_or_null(int layer, WeightRole role) const {
  auto at = vector_index_.find({layer, role, -1});
  return at == vector_index_.end() ? nullptr : &vectors_[at->second];
}

const VectorWeight& WeightTable::vector(int layer, WeightRole role) const {
  const VectorWeight* weight = vector_or_null(layer, role);
  HEARTH_CHECK(weight != nullptr, "the architecture described the vector that its graph reads");
  return *weight;
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
