#include "models/model_spec.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "formats/source_rows.h"
#include "models/axis_cutting.h"
#include "models/registry.h"

namespace hearth {

namespace {

// Holds the sizes of a file against what kernels, ops and buffers were built for, before anything
// is allocated.
void check_sizes(const ModelSpec& spec) {
  auto refuse = [&](const std::string& what) {
    fail(ErrorCode::kUnsupported, "'{}' has {}: this version cannot run it", spec.source, what);
  };
  if (spec.hyper.width > kMostReduceWidth) {
    refuse(fmt::format("rows of {} elements, more than {}", spec.hyper.width, kMostReduceWidth));
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.latent_length > 0) continue;
    AttentionShape shape{};
    shape.group_size = layer.group_size();
    shape.value_length = layer.value_length;
    shape.granule = block_granule(layer.group_size(), layer.value_length);
    if (attention_tile_fits(shape)) continue;
    refuse(
        fmt::format("{} query heads for {} KV heads of {} elements, whose results of a position "
                    "are worked on together and are more than {} elements",
                    layer.heads, layer.kv_heads, layer.value_length, kAttentionTileFloats));
  }
}

// Tensors that change no result, though no weight is made of them: tables of frequencies, which the
// hyper-parameters hold, or give as well where older converters wrote them; scales of activations,
// for programs that quantise these as the model was calibrated.
bool is_harmless(std::string_view name, const HyperParameters& hyper) {
  const bool turned = hyper.positions == PositionKind::kRope;
  return (turned && name == "rope_freqs.weight") || name.ends_with(".attn_rot_embd.weight") ||
         name.ends_with(".attn_rot_embd") || name.ends_with(".input_scale");
}

}  // namespace

const char* role_name(WeightRole role) {
  constexpr const char* kMatrices[] = {
      "embedding", "q",      "k",           "v",         "o",           "q_a",
      "kv_a",      "k_b",    "v_b",         "gate",      "up",          "down",
      "head",      "router", "shared gate", "shared up", "shared down", "positions"};
  static_assert(std::size(kMatrices) == static_cast<size_t>(WeightRole::kPositions) + 1);
  return role <= WeightRole::kPositions ? kMatrices[static_cast<size_t>(role)] : "";
}

WeightRole bias_of(WeightRole norm) {
  HEARTH_CHECK(norm >= WeightRole::kQueryNorm, "a norm has its bias behind it");
  return static_cast<WeightRole>(static_cast<uint8_t>(norm) + 1);
}

std::span<const std::byte> WeightSpec::bytes() const {
  HEARTH_CHECK(data->runs.empty(), "the rows lie in one piece");
  if (is_matrix()) {
    size_t stride = row_bytes(dtype, k);
    return data->data.subspan(first * stride, rows * stride);
  }
  return data->data.subspan(row_bytes(dtype, first), row_bytes(dtype, k));
}

const WeightSpec* ModelSpec::find(int layer, WeightRole role) const {
  auto at = std::find_if(weights.begin(), weights.end(), [&](const WeightSpec& weight) {
    return weight.layer == layer && weight.role == role;
  });
  return at == weights.end() ? nullptr : &*at;
}

const WeightSpec& ModelSpec::head() const {
  const WeightSpec* head = find(-1, WeightRole::kHead);
  if (head == nullptr) head = find(-1, WeightRole::kEmbedding);
  HEARTH_CHECK(head != nullptr, "a model has an embedding table");
  return *head;
}

bool ModelSpec::has_kv_cache() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& layer) { return layer.kept == KvKept::kCached; });
}

bool ModelSpec::has_latents() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& layer) { return layer.latent_length > 0; });
}

bool ModelSpec::is_encoder() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& layer) { return layer.mask == Mask::kBidirectional; });
}

uint64_t ModelSpec::matrix_bytes() const {
  uint64_t bytes = 0;
  for (const WeightSpec& weight : weights) {
    if (weight.is_matrix()) bytes += weight.rows * row_bytes(weight.data->dtype, weight.k);
  }
  return bytes;
}

ModelSpec make_spec(const ModelSource& source) {
  return make_spec(source, architecture_for(source));
}

ModelSpec make_spec(const ModelSource& source, const Architecture& architecture) {
  SpecBuilder builder(source, read_hyper_parameters(source, architecture.kind));
  architecture.describe(builder);
  return std::move(builder).finish(architecture);
}

SpecBuilder::SpecBuilder(const ModelSource& source, HyperParameters hyper) : source_(source) {
  spec_.source = source.name();
  spec_.hyper = std::move(hyper);
}

AxisId SpecBuilder::axis(AxisSpec axis) {
  spec_.axes.push_back(std::move(axis));
  return static_cast<AxisId>(spec_.axes.size() - 1);
}

// One row may be stored without its second dimension.
const SourceTensor& SpecBuilder::tensor(const std::string& name,
                                        const std::vector<uint64_t>& dims) const {
  const SourceTensor& tensor = source_.require_tensor(name);
  bool vector =
      dims.size() == 2 && dims[1] == 1 && tensor.dims.size() == 1 && tensor.dims[0] == dims[0];
  if (!vector && tensor.dims != dims) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} is {}, but the file's metadata calls for {}: the file is damaged or its "
         "metadata was edited",
         source_.name(), name, fmt::join(tensor.dims, " x "), fmt::join(dims, " x "));
  }
  return tensor;
}

void SpecBuilder::matrix(WeightRole role, int layer, std::string name, uint32_t rows, uint32_t k,
                         WeightCut cut, AxisId axis, uint32_t item_size) {
  const SourceTensor& data = tensor(name, {k, rows});
  spec_.weights.push_back(
      {std::move(name), role, layer, rows, k, cut, axis, item_size, data.dtype, data.dtype, &data});
}

void SpecBuilder::stacked(WeightRole role, int layer, std::string name, uint32_t rows, uint32_t k,
                          AxisId axis) {
  const uint32_t count = spec_.axes[axis].items;
  const SourceTensor& data = tensor(name, {k, rows, count});
  spec_.weights.push_back({.name = std::move(name),
                           .role = role,
                           .layer = layer,
                           .rows = rows * count,
                           .k = k,
                           .cut = WeightCut::kRows,
                           .axis = axis,
                           .item_size = rows,
                           .dtype = data.dtype,
                           .packed = data.dtype,
                           .data = &data});
}

void SpecBuilder::replicated(WeightRole role, int layer, std::string name, uint32_t rows,
                             uint32_t k, bool widened) {
  matrix(role, layer, std::move(name), rows, k, WeightCut::kReplicated, 0, 0);
  if (widened) spec_.weights.back().packed = DType::kF32;
}

void SpecBuilder::matrix_part(WeightRole role, int layer, std::string name, uint32_t rows,
                              uint32_t k, AxisId axis, uint32_t item_size, uint32_t first,
                              uint32_t all_rows) {
  const SourceTensor& data = tensor(name, {k, all_rows});
  spec_.weights.push_back({.name = std::move(name),
                           .role = role,
                           .layer = layer,
                           .rows = rows,
                           .k = k,
                           .cut = WeightCut::kRows,
                           .axis = axis,
                           .item_size = item_size,
                           .dtype = data.dtype,
                           .packed = data.dtype,
                           .data = &data,
                           .first = first});
}

// An expert's matrices follow each other, and so do they in memory.
void SpecBuilder::experts(int layer, AxisId axis, const std::vector<ExpertMatrix>& matrices) {
  const uint32_t count = spec_.hyper.experts.count;
  std::vector<const SourceTensor*> data;
  for (const ExpertMatrix& of : matrices) {
    data.push_back(&tensor(of.name, {of.k, of.all_rows, count}));
  }
  for (uint32_t e = 0; e < count; ++e) {
    for (size_t i = 0; i < matrices.size(); ++i) {
      const ExpertMatrix& of = matrices[i];
      spec_.weights.push_back({.name = of.name,
                               .role = of.role,
                               .layer = layer,
                               .rows = of.rows,
                               .k = of.k,
                               .cut = of.cut,
                               .axis = axis,
                               .item_size = 1,
                               .dtype = data[i]->dtype,
                               .packed = data[i]->dtype,
                               .data = data[i],
                               .first = e * of.all_rows + of.first_row,
                               .expert = static_cast<int>(e)});
    }
  }
}

void SpecBuilder::vector(WeightRole role, int layer, std::string name, uint32_t size) {
  const SourceTensor& data = tensor(name, {size, 1});
  spec_.weights.push_back({std::move(name), role, layer, 1, size, WeightCut::kVector, 0, 0,
                           data.dtype, data.dtype, &data});
}

void SpecBuilder::vector_if_there(WeightRole role, int layer, std::string name, uint32_t size) {
  if (source_.find_tensor(name) != nullptr) vector(role, layer, std::move(name), size);
}

void SpecBuilder::vector_part(WeightRole role, int layer, std::string name, uint32_t size,
                              uint32_t first, const std::vector<uint64_t>& dims) {
  const SourceTensor& data = tensor(name, dims);
  // A part that begins inside of a block could be read, but nobody stores biases so.
  if (first % dtype_info(data.dtype).block_elements != 0 ||
      size % dtype_info(data.dtype).block_elements != 0) {
    fail(ErrorCode::kUnsupported,
         "'{}': tensor {} is of type {}, whose blocks lie across the vectors in it: this version "
         "cannot read it",
         source_.name(), name, data.type_text);
  }
  spec_.weights.push_back({.name = std::move(name),
                           .role = role,
                           .layer = layer,
                           .rows = 1,
                           .k = size,
                           .cut = WeightCut::kVector,
                           .dtype = data.dtype,
                           .packed = data.dtype,
                           .data = &data,
                           .first = first});
}

// Layers that are not run stand behind the others.
bool SpecBuilder::is_skipped(std::string_view name) const {
  const uint32_t first = spec_.hyper.layers, end = first + spec_.hyper.skipped_layers;
  for (uint32_t layer = first; layer < end; ++layer) {
    if (name.starts_with(layer_tensor(layer, ""))) return true;
  }
  return false;
}

void SpecBuilder::check_all_used() const {
  std::set<const SourceTensor*> used;
  for (const WeightSpec& weight : spec_.weights) used.insert(weight.data);
  for (const SourceTensor& tensor : source_.tensors()) {
    if (used.contains(&tensor) || is_skipped(tensor.name)) continue;
    if (is_harmless(tensor.name, spec_.hyper)) continue;
    // Some converters write it beside attn_k_b and attn_v_b, which say the same.
    if (spec_.hyper.latent_length > 0 && tensor.name.ends_with(".attn_kv_b.weight")) continue;
    fail(ErrorCode::kUnsupported,
         "'{}' has a tensor {} that its architecture does not use here: the text would be wrong",
         source_.name(), tensor.name);
  }
}

// Shards begin at whole items of an axis, or at whole units where nothing cuts it finer.
void SpecBuilder::settle_types() {
  for (WeightSpec& weight : spec_.weights) {
    if (!weight.is_matrix()) {
      if (weight.data->runs.empty()) continue;
      fail(ErrorCode::kUnsupported, "'{}': tensor {} of type {} is no matrix: this cannot be read",
           spec_.source, weight.name, weight.data->type_text);
    }
    const bool by_rows = weight.cut == WeightCut::kRows;
    const uint64_t granule =
        by_rows ? uint64_t{spec_.axes[weight.axis].unit_items} * weight.item_size : weight.rows;
    if (weight.packed != weight.dtype) continue;
    weight.packed = packed_type(*weight.data, weight.first, weight.rows, granule);
  }
}

ModelSpec SpecBuilder::finish(const Architecture& architecture) && {
  spec_.architecture = &architecture;
  check_all_used();
  settle_types();
  check_sizes(spec_);
  return std::move(spec_);
}

std::string layer_tensor(uint32_t layer, const char* name) {
  return fmt::format("blk.{}.{}", layer, name);
}

}  // namespace hearth
