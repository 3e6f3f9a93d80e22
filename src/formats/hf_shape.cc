#include "formats/hf_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/hf_names.h"
#include "formats/hf_stored.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

struct ConfigType {
  std::string_view in_config, in_file;
  DType dtype;
};

constexpr std::array<ConfigType, 3> kConfigTypes = {{{"bfloat16", "BF16", DType::kBF16},
                                                     {"float16", "F16", DType::kF16},
                                                     {"float32", "F32", DType::kF32}}};
// The most tensors of a model; DeepSeek-V3 has 94,000.
constexpr size_t kMaxTensors = 1'000'000;
constexpr ConfigType kFp8 = {"", "F8_E4M3", DType::kF8E4M3}, kFloat = kConfigTypes[2];

class Lister {
 public:
  Lister(const ConfigReader& config, const HfConfig& model)
      : config_(config), model_(model), family_(*model.family) {
    const char* key = config.has("dtype") ? "dtype" : "torch_dtype";
    const std::string name = config.text_or(key, "bfloat16");
    auto at = std::ranges::find(kConfigTypes, std::string_view(name), &ConfigType::in_config);
    if (at == kConfigTypes.end())
      config.fail_unsupported(key, "it supports bfloat16, float16 and float32");
    plain_ = *at;
    const HfQuant& quant = model.quant;
    if (quant.weights.empty()) return;
    fp8_ = quant.find(HfLayout::kFp8);
    mxfp4_ = quant.find(HfLayout::kMxfp4) != nullptr && has_stacks();
    if ((fp8_ == nullptr && !mxfp4_) || quant.weights.size() != 1) {
      fail(ErrorCode::kUnsupported,
           "'{}' is quantised by {}, whose tensors are not known from config.json alone; name a "
           "folder with weights",
           config.file(), printable(quant.method));
    }
  }

  std::vector<SafeTensor> list() {
    for (std::span<const HfTensor> rows : family_.tensors) {
      for (const HfTensor& row : rows) {
        if (row.scope != HfScope::kLayer) add_row(row);
      }
    }
    for (uint32_t layer = 0; layer < model_[HfValue::kLayers]; ++layer) {
      model_.keep_layer(layer);
      for (std::span<const HfTensor> rows : family_.tensors) add_layer(rows, layer);
    }
    return std::move(tensors_);
  }

 private:
  static bool is_stack(const HfTensor& row) {
    return row.kind == HfKind::kExpertStack || row.kind == HfKind::kExpertPairs;
  }
  bool has_stacks() const {
    return std::ranges::any_of(family_.tensors, [](std::span<const HfTensor> rows) {
      return std::ranges::any_of(rows, is_stack);
    });
  }

  // All tensors of one expert come before those of the next.
  void add_layer(std::span<const HfTensor> rows, uint32_t layer) {
    const bool sparse = model_[HfValue::kExperts] > 0 && layer >= model_[HfValue::kDenseLayers];
    const bool recurrent = model_.is_recurrent(layer);
    bool experts = false;
    for (const HfTensor& row : rows) {
      if (row.scope != HfScope::kLayer) continue;
      if (row.layers == (sparse ? HfLayers::kDense : HfLayers::kSparse)) continue;
      if (row.layers == (recurrent ? HfLayers::kAttending : HfLayers::kRecurrent)) continue;
      if (row.kind != HfKind::kExpert) {
        add_row(row, layer);
      } else if (!std::exchange(experts, true)) {
        add_experts(rows, layer);
      }
    }
  }

  void add_experts(std::span<const HfTensor> rows, uint32_t layer) {
    for (uint32_t expert = 0; expert < model_[HfValue::kExperts]; ++expert) {
      for (const HfTensor& row : rows) {
        if (row.kind == HfKind::kExpert) add_row(row, layer, expert);
      }
    }
  }

  void add_row(const HfTensor& row, uint32_t layer = 0, uint32_t expert = 0) {
    if (row.rows == HfValue::kNone || model_[row.when] == 0) return;
    const uint64_t rows = model_[row.rows], k = model_[row.columns];
    const std::string name = hf_name_of(row, family_, layer, expert);
    if (is_stack(row)) return add_stack(row, name);
    if (row.kind == HfKind::kExpertMatrices) {
      return add(name, plain_, {model_[HfValue::kExperts], rows, k});
    }
    const std::string module = name.substr(0, name.rfind('.'));
    if (model_[row.bias] != 0) add(module + ".bias", plain_, {rows});
    if (row.kind == HfKind::kWhole) return add(name, kFloat, {rows});
    if (row.columns == HfValue::kNone) return add(name, plain_, {rows});
    if (fp8_ == nullptr || !row.linear || model_.quant.keeps(module)) {
      return add(name, plain_, {rows, k});
    }
    add(name, kFp8, {rows, k});
    const bool blocks = fp8_->scaled == HfScaled::kSquare;
    std::vector<uint64_t> scales = {fp8_scale_blocks(rows), fp8_scale_blocks(k)};
    if (!blocks) scales = {fp8_->scaled == HfScaled::kRow ? rows : 1, 1};
    add(name + std::string(blocks ? kHfBlockScales : kHfScales), kFloat, std::move(scales));
  }

  // Adds the one tensor of all experts of a layer.
  void add_stack(const HfTensor& row, const std::string& name) {
    constexpr uint64_t kBlockColumns = 32, kBlockBytes = 16;
    const uint64_t experts = model_[HfValue::kExperts], k = model_[row.columns];
    const uint64_t rows = model_[row.rows] * (row.kind == HfKind::kExpertPairs ? 2 : 1);
    if (row.columns == HfValue::kNone) return add(name, plain_, {experts, rows});
    // Stacks of floats are stored transposed.
    if (!mxfp4_) return add(name, plain_, {experts, k, rows});
    if (k % kBlockColumns != 0) {
      fail(ErrorCode::kFile,
           "'{}' has experts in MXFP4 with rows of {}, which is not a multiple of {}: the file is "
           "damaged",
           config_.file(), k, kBlockColumns);
    }
    push(name + "_blocks", "U8", {experts, rows, k / kBlockColumns, kBlockBytes});
    push(name + "_scales", "U8", {experts, rows, k / kBlockColumns});
  }

  void add(std::string name, const ConfigType& type, std::vector<uint64_t> shape) {
    SafeTensor& tensor = push(std::move(name), type.in_file, std::move(shape));
    tensor.dtype = type.dtype;
    tensor.bytes = row_bytes(type.dtype, tensor.elements);
  }

  // Adds a tensor with one byte per element.
  SafeTensor& push(std::string name, std::string_view type, std::vector<uint64_t> shape) {
    if (tensors_.size() == kMaxTensors) {
      fail(ErrorCode::kFile,
           "'{}' requires more than {} tensors; the file is damaged, download it again",
           config_.file(), kMaxTensors);
    }
    SafeTensor tensor;
    tensor.name = std::move(name);
    tensor.type = type;
    tensor.elements = 1;
    for (uint64_t dim : shape) tensor.elements *= dim;
    tensor.bytes = tensor.elements;
    tensor.shape = std::move(shape);
    return tensors_.emplace_back(std::move(tensor));
  }

  const ConfigReader config_;
  HfConfig model_;  // with the values of the layer at hand
  const HfFamily& family_;
  ConfigType plain_ = {};
  const HfWeights* fp8_ = nullptr;  // set if Linears are FP8
  bool mxfp4_ = false;              // experts' tensors are MXFP4
  std::vector<SafeTensor> tensors_;
};

}  // namespace

std::vector<SafeTensor> shapes_of_config(const ConfigReader& config, const HfConfig& model) {
  return Lister(hf_text_part(config, *model.family), model).list();
}

}  // namespace hearth
