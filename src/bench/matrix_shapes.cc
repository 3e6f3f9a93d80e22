#include "bench/matrix_shapes.h"

#include <algorithm>
#include <map>

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

// Returns the weight's member name; a token table that is also the LM head counts as the head.
std::string_view member_of(const ModelSpec& spec, const WeightSpec& weight) {
  return spec.head && &weight == &spec.weight(spec.head) ? "head" : weight.member;
}

// Returns the matrices of all products, ordered by the first occurrence of their members. The head
// comes last.
std::vector<const WeightSpec*> multiplied(const ModelSpec& spec) {
  std::vector<const WeightSpec*> matrices;
  std::map<std::string_view, size_t> order = {{"head", spec.weights.size()}};
  for (uint32_t i = 0; i < spec.weights.size(); ++i) {
    const WeightSpec& weight = spec.weights[i];
    const bool head = i == spec.head.index;
    const bool table = i == spec.embedding.token.index || i == spec.embedding.positions.index;
    if (!weight.is_matrix() || (table && !head)) continue;
    order.insert({member_of(spec, weight), i});
    matrices.push_back(&weight);
  }
  std::ranges::stable_sort(
      matrices, {}, [&](const WeightSpec* weight) { return order[member_of(spec, *weight)]; });
  return matrices;
}

}  // namespace

WeightType weight_type(const PackedType& type) { return {type.name(), type.kind, type.form}; }

std::vector<WeightType> weight_types() {
  std::vector<WeightType> types;
  for (DType dtype : all_dtypes()) types.push_back(weight_type(dtype));
  types.push_back(weight_type({DType::kF8E4M3, PackKind::kFP8R}));
  return types;
}

std::vector<MatrixShape> matrix_shapes(const ModelSpec& spec, std::span<const WeightType> types) {
  std::vector<MatrixShape> shapes;
  for (const WeightSpec* weight : multiplied(spec)) {
    // A matrix that packing widens is measured in the type that the file has.
    const bool widened = weight->packed.dtype != weight->dtype;
    WeightType own = weight_type(widened ? PackedType(weight->dtype) : weight->packed);
    std::span<const WeightType> in = types.empty() ? std::span(&own, 1) : types;
    for (const WeightType& type : in) {
      add_role({weight->rows, weight->k, type, std::string(member_of(spec, *weight))}, &shapes);
    }
  }
  return shapes;
}

Rotation plan_rotation(const MatrixShape& shape, uint64_t bytes) {
  Rotation rotation;
  rotation.spec = {.kind = shape.type.kind,
                   .rows = (shape.rows + kPanelRows - 1) / kPanelRows * kPanelRows,
                   .k = (shape.k + kBlock - 1) / kBlock * kBlock,
                   .k_origin = 0,
                   .form = shape.type.form};
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
