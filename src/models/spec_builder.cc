#include "models/spec_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/source_rows.h"
#include "graph/ops/reduce.h"
#include "models/column_orders.h"
#include "models/unread_keys.h"
#include "tensor/pack_fp8.h"

namespace hearth {

SpecBuilder::SpecBuilder(const ModelSource& source) : keys_(source) {
  spec_.source = source.name();
  spec_.hyper = read_hyper_parameters(keys_);
}

AxisId SpecBuilder::axis(AxisSpec axis) {
  auto at = std::ranges::find(spec_.axes, axis);
  if (at != spec_.axes.end()) return static_cast<AxisId>(at - spec_.axes.begin());
  spec_.axes.push_back(std::move(axis));
  return static_cast<AxisId>(spec_.axes.size() - 1);
}

SpecBuilder::HeadAxes SpecBuilder::head_axes(uint32_t heads, uint32_t kv_heads, uint32_t columns) {
  for (AxisId id = 0; id < spec_.axes.size(); ++id) {
    const AxisSpec& axis = spec_.axes[id];
    if (axis.kv_axis && axis.items == heads && axis.item_columns == columns &&
        spec_.axes[*axis.kv_axis].items == kv_heads) {
      return {id, *axis.kv_axis};
    }
  }
  const auto first = static_cast<AxisId>(spec_.axes.size());
  spec_.axes.push_back({.name = "kv_heads", .items = kv_heads});
  spec_.axes.push_back(
      {.name = "heads", .items = heads, .kv_axis = first, .item_columns = columns});
  return {first + 1, first};
}

// Returns a tensor of these dimensions; a single row may be stored without its second dimension.
const SourceTensor& SpecBuilder::tensor(const std::string& name,
                                        const std::vector<uint64_t>& dims) const {
  const SourceTensor& tensor = source().require_tensor(name);
  bool vector =
      dims.size() == 2 && dims[1] == 1 && tensor.dims.size() == 1 && tensor.dims[0] == dims[0];
  if (!vector && tensor.dims != dims) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} is {}, but the file's metadata requires {}: the file is damaged or its "
         "metadata was edited",
         source().name(), name, fmt::join(tensor.dims, " x "), fmt::join(dims, " x "));
  }
  return tensor;
}

WeightId SpecBuilder::declare(int layer, const MatrixPlace& place, const SourceTensor& data,
                              uint32_t first, int expert) {
  spec_.weights.push_back({.name = place.name,
                           .member = place.member,
                           .layer = layer,
                           .rows = place.rows,
                           .k = place.k,
                           .cut = place.cut,
                           .axis = place.axis,
                           .item_size = place.item_size,
                           .dtype = data.dtype,
                           .packed = data.dtype,
                           .data = &data,
                           .first = first,
                           .column_runs = place.column_runs,
                           .expert = expert,
                           .scale = scale_of(data, first)});
  return {static_cast<uint32_t>(spec_.weights.size() - 1)};
}

float SpecBuilder::scale_of(const SourceTensor& data, uint32_t first) {
  if (data.dtype != DType::kNVFP4 || !data.name.ends_with(".weight")) return 1;
  std::string name(data.name.substr(0, data.name.size() - std::string_view("weight").size()));
  name += "scale";
  const SourceTensor* scales = source().find_tensor(name);
  if (scales == nullptr) return 1;
  const uint64_t matrices = data.dims.size() > 2 ? data.dims[2] : 1;
  const bool f32 = scales->type_known && scales->dtype == DType::kF32;
  if (!f32 || scales->n_elements != matrices) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} is {} of type {}, but must be {} in F32: the file is damaged, download "
         "or convert it again",
         source().name(), name, fmt::join(scales->dims, " x "), scales->type_text, matrices);
  }
  float scale;
  const uint64_t matrix = first / (data.rows() / matrices);
  dequantize_row(DType::kF32, scales->data.data() + matrix * sizeof scale, 1, &scale);
  if (!(scale > 0) || !std::isfinite(scale)) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} has the scale {}, which is not a positive number: the file is damaged, "
         "download or convert it again",
         source().name(), name, scale);
  }
  known_.insert(name);
  return scale;
}

WeightId SpecBuilder::matrix(int layer, const MatrixPlace& place) {
  return declare(layer, place, tensor(place.name, {place.k, place.tensor_rows()}), place.first);
}

WeightId SpecBuilder::stacked(int layer, MatrixPlace place) {
  const uint32_t count = spec_.axes[place.axis].items;
  const SourceTensor& data = tensor(place.name, {place.k, place.rows, count});
  place.item_size = place.rows;
  place.rows *= count;
  return declare(layer, place, data, 0);
}

WeightId SpecBuilder::replicated(int layer, MatrixPlace place, bool widened) {
  place.cut = WeightCut::kReplicated;
  const WeightId id = matrix(layer, place);
  WeightSpec& made = spec_.weights[id.index];
  made.widened = widened;
  if (widened) made.packed = DType::kF32;
  return id;
}

LinearRef SpecBuilder::linear(int layer, MatrixPlace place) {
  const std::string bias = place.name + ".bias";
  place.name += ".weight";
  LinearRef made{.weight = matrix(layer, place)};
  if (has(bias)) {
    made.bias = vector_part(layer, "bias", bias, place.rows, place.first, {place.tensor_rows(), 1});
  }
  return made;
}

LinearRef SpecBuilder::replicated_linear(int layer, MatrixPlace place) {
  const std::string bias = place.name + ".bias";
  place.name += ".weight";
  LinearRef made{.weight = replicated(layer, place, /*widened=*/true)};
  made.bias = vector_where_there(layer, "bias", bias, place.rows);
  return made;
}

// Declares an expert's matrices one after the other, which is also their order in memory.
WeightId SpecBuilder::experts(int layer, uint32_t count, const std::vector<MatrixPlace>& matrices) {
  std::vector<const SourceTensor*> data;
  for (const MatrixPlace& of : matrices) {
    data.push_back(&tensor(of.name, {of.k, of.tensor_rows(), count}));
  }
  const WeightId first{static_cast<uint32_t>(spec_.weights.size())};
  for (uint32_t e = 0; e < count; ++e) {
    for (size_t i = 0; i < matrices.size(); ++i) {
      const MatrixPlace& of = matrices[i];
      declare(layer, of, *data[i], e * of.tensor_rows() + of.first, static_cast<int>(e));
    }
  }
  return first;
}

WeightId SpecBuilder::vector(int layer, const char* member, std::string name, uint32_t size) {
  return vector_part(layer, member, std::move(name), size, 0, {size, 1});
}

WeightId SpecBuilder::vector_where_there(int layer, const char* member, const std::string& name,
                                         uint32_t size) {
  return has(name) ? vector(layer, member, name, size) : WeightId{};
}

WeightId SpecBuilder::vector_part(int layer, const char* member, std::string name, uint32_t size,
                                  uint32_t first, const std::vector<uint64_t>& dims) {
  const SourceTensor& data = tensor(name, dims);
  const uint32_t block = dtype_info(data.dtype).block_elements;
  const bool whole = first == 0 && size == data.n_elements;
  // A vector that begins or ends inside a block of the tensor could be decoded, but no known model
  // stores its biases so.
  if (!whole && (first % block != 0 || size % block != 0)) {
    fail(ErrorCode::kUnsupported,
         "'{}': tensor {} has the type {}, whose blocks span several of its vectors: this version "
         "does not support it",
         source().name(), name, data.type_text);
  }
  return declare(layer, {member, std::move(name), 1, size, WeightCut::kVector}, data, first);
}

WeightId SpecBuilder::table(int layer, const char* member, std::string name, uint32_t rows,
                            uint32_t columns) {
  const SourceTensor& data = tensor(name, {columns, rows});
  const WeightId id =
      declare(layer, {member, std::move(name), 1, rows * columns, WeightCut::kVector}, data, 0);
  spec_.weights[id.index].table_columns = columns;
  return id;
}

const SourceTensor& SpecBuilder::table_in_file(const std::string& name, uint32_t columns,
                                               uint32_t rows) {
  known_.insert(name);
  return tensor(name, {columns, rows});
}

void SpecBuilder::check_not_positive(WeightId vector) const {
  const WeightSpec& weight = spec_.weights[vector.index];
  // The source has no values here: only the shape was read, or the type is unknown.
  if (!weight.data->type_known || weight.data->data.empty()) return;
  std::vector<float> values(weight.k);
  dequantize_row(weight.dtype, weight.bytes().data(), weight.k, values.data());
  for (float value : values) {
    if (value <= 0 && std::isfinite(value)) continue;
    fail(ErrorCode::kFile,
         "'{}': tensor {} has the value {}, which must not be above 0: the file is damaged, "
         "download or convert it again",
         source().name(), weight.name, value);
  }
}

NormRef SpecBuilder::norm(int layer, NormKind kind, const char* member, const std::string& name,
                          uint32_t size) {
  NormRef made{.kind = kind, .weight = vector(layer, member, name + ".weight", size)};
  if (kind == NormKind::kLayer) {
    made.bias = vector_where_there(layer, "bias", name + ".bias", size);
    made.eps = static_cast<float>(keys_.need_real("attention.layer_norm_epsilon"));
    return made;
  }
  made.eps = epsilon();
  return made;
}

// The key for RMS norms comes first, since files of models with both kinds of norms may have both
// keys.
float SpecBuilder::epsilon() const {
  const double layer_eps = keys_.real_or("attention.layer_norm_epsilon", 1e-5);
  return static_cast<float>(keys_.real_or("attention.layer_norm_rms_epsilon", layer_eps));
}

void SpecBuilder::layer(Halves halves) {
  const Residual& residual = halves.residual;
  append({{joined(std::move(halves.attention), residual.kind, residual.attention),
           joined(std::move(halves.feed_forward), residual.kind, residual.feed_forward)}});
}

Block SpecBuilder::joined(Body body, NormKind kind, const NormNames& names) {
  const auto number = static_cast<uint32_t>(spec_.layers.size());
  auto made = [&](const char* name) -> std::optional<NormRef> {
    if (name == nullptr) return {};
    return norm(static_cast<int>(number), kind, name, layer_tensor(number, name), hyper().width);
  };
  return {std::move(body),
          {.before = made(names.before),
           .behind = made(names.behind),
           .outer = made(names.outer),
           .inner = made(names.inner),
           .after = made(names.after)}};
}

// Returns whether a tensor that became no weight can be ignored without changing a result. These
// are tensors of layers that are not run, which stand behind the others, and tensors marked by
// says_nothing_new(). Older converters wrote tables of frequencies, which the hyper-parameters give
// as well. Scales of activations are for programs that quantise activations as the model was
// calibrated.
bool SpecBuilder::is_harmless(std::string_view name) const {
  const uint32_t first = hyper().layers, end = first + hyper().skipped_layers;
  for (uint32_t layer = first; layer < end; ++layer) {
    if (name.starts_with(layer_tensor(layer, ""))) return true;
  }
  return known_.contains(name) || name.ends_with(".attn_rot_embd.weight") ||
         name.ends_with(".attn_rot_embd") || name.ends_with(".input_scale");
}

void SpecBuilder::check_all_used() const {
  std::set<const SourceTensor*> used;
  for (const WeightSpec& weight : spec_.weights) used.insert(weight.data);
  for (const SourceTensor& tensor : source().tensors()) {
    if (used.contains(&tensor) || is_harmless(tensor.name)) continue;
    fail(ErrorCode::kUnsupported,
         "'{}' has a tensor {}, which this version ignores for its architecture, so the text would "
         "be wrong: use another conversion of the model",
         source().name(), tensor.name);
  }
}

static_assert(ModelMost::kWidth <= kMaxReduceWidth, "a reduce holds the widest rows");

// Refuses layers with different numbers of experts, or of experts that a token chooses: steps have
// memory for one shape of choices.
void SpecBuilder::check_experts() const {
  const auto* first = spec_.first<ExpertsBlock>();
  for (uint32_t layer = 0; layer < spec_.layers.size(); ++layer) {
    const auto* experts = spec_.block<ExpertsBlock>(layer);
    if (experts == nullptr ||
        (experts->rule.experts == first->rule.experts && experts->rule.used == first->rule.used)) {
      continue;
    }
    fail(ErrorCode::kUnsupported,
         "'{}' uses {} of {} experts in layer {}, and {} of {} in other layers: this version does "
         "not support it",
         spec_.source, experts->rule.used, experts->rule.experts, layer, first->rule.used,
         first->rule.experts);
  }
}

// Decides the type that each matrix is packed as. Rows of a shard begin at multiples of the axis's
// unit.
void SpecBuilder::settle_types() {
  for (WeightSpec& weight : spec_.weights) {
    if (!weight.is_matrix()) {
      if (weight.data->runs.empty()) continue;
      fail(ErrorCode::kUnsupported,
           "'{}': tensor {} of type {} is not a matrix: the file is damaged, download or convert "
           "it again",
           spec_.source, weight.name, weight.data->type_text);
    }
    const bool by_rows = weight.cut == WeightCut::kRows;
    const uint64_t granule =
        by_rows ? uint64_t{spec_.axes[weight.axis].unit_items} * weight.item_size : weight.rows;
    if (weight.widened) continue;
    weight.packed = packed_type(*weight.data, weight.first, weight.rows, granule);
    // Scales of FP8 cannot move with runs of columns unless each scale lies within one run.
    const bool straddles = weight.column_runs.length % kFp8ScaleBlock != 0;
    if (weight.dtype == DType::kF8E4M3 && straddles) weight.packed = DType::kF32;
  }
}

ModelSpec SpecBuilder::finish(const Architecture& architecture, const WeightPolicy& policy) && {
  spec_.architecture = &architecture;
  if (spec_.is_encoder()) spec_.head = {};
  refuse_unread_keys(keys_, spec_);
  check_all_used();
  settle_types();
  apply_weight_policy(policy, &spec_);
  settle_column_orders(&spec_);
  check_experts();
  return std::move(spec_);
}

}  // namespace hearth
