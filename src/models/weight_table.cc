#include "models/weight_table.h"

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {

WeightTable::WeightTable(const ModelSpec& spec, const std::vector<CutAxis>& axes)
    : shard_count_(axes[0].cuts.shard_count()) {
  for (const WeightSpec& weight : spec.weights) {
    Key key{weight.layer, weight.role};
    if (!weight.is_matrix()) {
      vector_index_[key] = vectors_.size();
      vectors_.push_back({weight.k, {}});
      continue;
    }
    matrix_index_[key] = matrices_.size();
    if (weight.cut == WeightCut::kReplicated) {
      matrices_.push_back(whole_weight(weight.name, weight.packed, weight.rows, weight.k,
                                       std::vector<bool>(shard_count_, true)));
      continue;
    }
    const CutAxis& axis = axes[weight.axis];
    matrices_.push_back(cut_weight(weight.name, weight.packed, weight.rows, weight.k,
                                   weight.cut == WeightCut::kRows ? CutBy::kRows : CutBy::kColumns,
                                   axis.cuts, axis.unit_items * weight.item_size));
  }
}

const Weight* WeightTable::matrix_or_null(int layer, WeightRole role) const {
  auto at = matrix_index_.find({layer, role});
  return at == matrix_index_.end() ? nullptr : &matrices_[at->second];
}

const Weight& WeightTable::matrix(int layer, WeightRole role) const {
  const Weight* weight = matrix_or_null(layer, role);
  HEARTH_CHECK(weight != nullptr, "the architecture described the matrix that its graph reads");
  return *weight;
}

const VectorWeight* WeightTable::vector_or_null(int layer, WeightRole role) const {
  auto at = vector_index_.find({layer, role});
  return at == vector_index_.end() ? nullptr : &vectors_[at->second];
}

const VectorWeight& WeightTable::vector(int layer, WeightRole role) const {
  const VectorWeight* weight = vector_or_null(layer, role);
  HEARTH_CHECK(weight != nullptr, "the architecture described the vector that its graph reads");
  return *weight;
}

size_t WeightTable::shard_bytes(uint32_t s) const {
  size_t bytes = 0;
  for (const Weight& weight : matrices_) {
    const PackSpec& spec = weight.shards[s].spec;
    bytes +=
        round_up(spec.codes_bytes(), kWeightAlign) + round_up(spec.scales_bytes(), kWeightAlign);
  }
  for (const VectorWeight& vector : vectors_) {
    bytes += round_up(vector.size * sizeof(float), kWeightAlign);
  }
  return bytes;
}

}  // namespace hearth
