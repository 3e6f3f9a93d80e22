#include "bench/matrix_shapes.h"

#include <algorithm>

namespace hearth {
namespace {

void add_role(MatrixShape shape, std::vector<MatrixShape>* shapes) {
  for (MatrixShape& known : *shapes) {
    if (known.rows != shape.rows || known.k != shape.k || known.type != shape.type) continue;
    std::string last = known.roles.substr(known.roles.rfind(' ') + 1);
    if (last != shape.roles) known.roles += ", " + shape.roles;
    return;
  }
  shapes->push_back(std::move(shape));
}

}  // namespace

WeightType weight_type(DType dtype) { return {dtype_info(dtype).name, pack_kind_for(dtype)}; }

std::vector<WeightType> weight_types() {
  std::vector<WeightType> types;
  for (DType dtype : all_dtypes()) types.push_back(weight_type(dtype));
  return types;
}

std::vector<MatrixShape> matrix_shapes(const ModelSpec& spec, std::span<const WeightType> types) {
  std::vector<const WeightSpec*> matrices;
  for (const WeightSpec& weight : spec.weights) {
    bool table = weight.role == WeightRole::kEmbedding || weight.role == WeightRole::kPositions;
    if (weight.is_matrix() && !table) matrices.push_back(&weight);
  }
  // An encoder has no head.
  if (!spec.is_encoder() && spec.head().role == WeightRole::kEmbedding) {
    matrices.push_back(&spec.head());
  }
  auto order = [](const WeightSpec* weight) {
    return weight->role == WeightRole::kEmbedding ? WeightRole::kHead : weight->role;
  };
  std::stable_sort(matrices.begin(), matrices.end(),
                   [&](const WeightSpec* a, const WeightSpec* b) { return order(a) < order(b); });
  std::vector<MatrixShape> shapes;
  for (const WeightSpec* weight : matrices) {
    WeightType own = weight_type(weight->dtype);
    std::span<const WeightType> in = types.empty() ? std::span(&own, 1) : types;
    for (const WeightType& type : in) {
      add_role({weight->rows, weight->k, type, role_name(order(weight))}, &shapes);
    }
  }
  return shapes;
}

Rotation plan_rotation(const MatrixShape& shape, uint64_t bytes) {
  Rotation rotation;
  rotation.spec = {.kind = shape.type.kind,
                   .rows = (shape.rows + kPanelRows - 1) / kPanelRows * kPanelRows,
                   .k = (shape.k + kBlock - 1) / kBlock * kBlock,
                   .k_origin = 0};
  uint64_t panel = rotation.spec.codes_panel_bytes() + rotation.spec.scales_panel_bytes();
  uint64_t most = (std::max(bytes, kWholeMatrix) + panel - 1) / panel;
  if (rotation.spec.panels() > most) {
    rotation.spec.rows = static_cast<uint32_t>(most) * kPanelRows;
  }
  uint64_t copy = rotation.copy_bytes();
  rotation.copies = static_cast<uint32_t>(std::max<uint64_t>(1, (bytes + copy - 1) / copy));
  return rotation;
}

}  // namespace hearth
