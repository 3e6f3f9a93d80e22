#include "bench/matrix_shapes.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {
namespace {

struct Role {
  std::string_view tensor;  // after "blk.N."; whole for the head
  std::string_view name;
};
constexpr std::string_view kHead = "output.weight", kTable = "token_embd.weight";
constexpr Role kRoles[] = {{"attn_q.weight", "q"},      {"attn_k.weight", "k"},
                           {"attn_v.weight", "v"},      {"attn_output.weight", "o"},
                           {"ffn_gate.weight", "gate"}, {"ffn_up.weight", "up"},
                           {"ffn_down.weight", "down"}, {kHead, "head"}};
// More than any model has, and padded sizes stay far from the ends of 32 bits.
constexpr uint64_t kMostOfAnAxis = uint64_t{1} << 24;

bool is_role(const GgufTensor& tensor, const Role& role, bool tied) {
  if (tensor.dims.size() != 2) return false;
  if (role.tensor == kHead) return tensor.name == (tied ? kTable : kHead);
  return tensor.name.starts_with("blk.") && tensor.name.ends_with(role.tensor) &&
         tensor.name[tensor.name.size() - role.tensor.size() - 1] == '.';
}

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
  for (const DTypeInfo& info : all_dtypes()) types.push_back(weight_type(info.dtype));
  types.push_back({pack_kind_name(PackKind::kFP8), PackKind::kFP8});
  return types;
}

std::vector<MatrixShape> matrix_shapes(const GgufFile& file, std::span<const WeightType> types) {
  bool tied = file.find_tensor(kHead) == nullptr;
  std::vector<MatrixShape> shapes;
  for (const Role& role : kRoles) {
    for (const GgufTensor& tensor : file.tensors()) {
      if (!is_role(tensor, role, tied)) continue;
      if (std::max(tensor.rows(), tensor.dims[0]) > kMostOfAnAxis) {
        fail(ErrorCode::kUnsupported,
             "{}: {} is {} x {}, and at most {} of each are measured: name another model file",
             file.name(), tensor.name, tensor.rows(), tensor.dims[0], kMostOfAnAxis);
      }
      WeightType own = weight_type(tensor.dtype);
      std::span<const WeightType> in = types.empty() ? std::span(&own, 1) : types;
      for (const WeightType& type : in) {
        add_role({static_cast<uint32_t>(tensor.rows()), static_cast<uint32_t>(tensor.dims[0]), type,
                  std::string(role.name)},
                 &shapes);
      }
    }
  }
  if (shapes.empty()) {
    fail(ErrorCode::kUnsupported,
         "{} has no matrices by the names of a dense decoder (blk.0.attn_q.weight and so on): "
         "name another model file",
         file.name());
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
