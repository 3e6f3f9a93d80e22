#include "formats/hf_codes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace hearth {
namespace {

using Shape = std::vector<uint64_t>;

// Suffixes of tensor names behind a module's name; those of gpt-oss's experts have no dot.
constexpr std::string_view kWeight = ".weight", kPackedWeight = ".weight_packed",
                           kQweight = ".qweight", kBlocks = "_blocks";
constexpr std::string_view kWeightScale = ".weight_scale", kScaleInv = ".weight_scale_inv",
                           kScale2 = ".weight_scale_2", kGlobalScale = ".weight_global_scale",
                           kZeroPoint = ".weight_zero_point", kWeightGroups = ".weight_g_idx",
                           kWeightShape = ".weight_shape", kQzeros = ".qzeros",
                           kQscales = ".scales", kQgroups = ".g_idx", kMxScales = "_scales";
constexpr std::array<std::string_view, 11> kParts = {
    kWeightScale, kHfBlockScales, kScale2,  kGlobalScale, kZeroPoint, kWeightGroups,
    kWeightShape, kQzeros,        kQscales, kQgroups,     kMxScales};
constexpr std::array<std::string_view, 12> kUnusedEndings = {
    ".input_scale",       ".input_scale_ub", ".input_zero_point", ".input_global_scale",
    ".output_scale",      ".q_scale",        ".k_scale",          ".v_scale",
    ".prob_output_scale", ".k_zero_point",   ".v_zero_point",     ".output_zero_point"};

constexpr uint32_t kWordBits = 32, kMxBlock = 32, kBlockBytes = 16;
// The smallest group, in columns: a block of 32 columns has two groups at most.
constexpr uint64_t kGroupGranule = 16;

struct ScaleType {
  std::string_view name;
  ScaleForm form;
};
constexpr std::array<ScaleType, 3> kFloatScales = {
    {{"F32", ScaleForm::kF32}, {"BF16", ScaleForm::kBF16}, {"F16", ScaleForm::kF16}}};
constexpr std::array<ScaleType, 2> kExponents = {
    {{"F8_E8M0", ScaleForm::kE8M0}, {"U8", ScaleForm::kE8M0}}};
constexpr std::array<ScaleType, 1> kE4M3 = {{{"F8_E4M3", ScaleForm::kE4M3}}};

uint64_t blocks_of(uint64_t n, uint64_t size) { return n / size + (n % size != 0); }

bool is_words(const SafeTensor& tensor) { return tensor.type == "I32" || tensor.type == "U32"; }

int64_t whole_number(std::string_view type, std::span<const std::byte> data, uint64_t i) {
  if (type == "I64") {
    int64_t number;
    std::memcpy(&number, data.data() + i * sizeof number, sizeof number);
    return number;
  }
  int32_t number;
  std::memcpy(&number, data.data() + i * sizeof number, sizeof number);
  return number;
}

// Returns the columns sorted by group, in ascending order within each; null if a group has another
// size than `group` and `k` call for.
ColumnOrder columns_by_group(const StoredCodes& codes) {
  std::vector<uint64_t> next(codes.groups + 1, 0);
  for (uint64_t c = 0; c < codes.k; ++c) ++next[codes.group_of(c) + 1];
  for (uint64_t g = 0; g < codes.groups; ++g) {
    if (next[g + 1] != std::min(codes.group, codes.k - g * codes.group)) return nullptr;
    next[g + 1] += next[g];
  }
  std::vector<uint32_t> order(codes.k);
  for (uint64_t c = 0; c < codes.k; ++c) {
    order[next[codes.group_of(c)]++] = static_cast<uint32_t>(c);
  }
  return std::make_shared<const std::vector<uint32_t>>(std::move(order));
}

// Describes the codes of one Linear as StoredCodes.
class LinearMaker {
 public:
  LinearMaker(const SafeTensor& tensor, const HfQuant& quant, HfStored& stored)
      : tensor_(tensor), quant_(quant), stored_(stored) {
    module_ = hf_whole_name(tensor.name);
    if (module_.ends_with(kWeight)) module_.resize(module_.size() - kWeight.size());
  }

  HfLinear make() {
    out_.codes.codes = part(tensor_);
    if (tensor_.name.ends_with(kBlocks)) {
      make_blocks();
    } else if (tensor_.name.ends_with(kQweight)) {
      quant_.find(HfLayout::kAwq) != nullptr ? make_awq() : make_gptq();
    } else if (tensor_.name.ends_with(kPackedWeight) && is_words(tensor_)) {
      make_packed();
    } else if (tensor_.type == "I8") {
      make_int8();
    } else if (tensor_.type == "F8_E4M3") {
      make_mxfp8();
    } else if (tensor_.name.ends_with(kPackedWeight) && peek(kGlobalScale) == nullptr) {
      make_mxfp4();
    } else {
      make_nvfp4();
    }
    return std::move(out_);
  }

 private:
  StoredCodes& codes() { return out_.codes; }

  StoredPart part(const SafeTensor& of) const {
    return {stored_.bytes_of(of), stored_.part_of(of), of.offset};
  }
  const SafeTensor* peek(std::string_view ending) const {
    return stored_.find(module_ + std::string(ending));
  }
  const SafeTensor* take(std::string_view ending) {
    return stored_.take(module_ + std::string(ending));
  }
  const SafeTensor& need(std::string_view ending) {
    const SafeTensor* found = take(ending);
    if (found != nullptr) return *found;
    stored_.fail_tensor(tensor_.name,
                        "holds quantised codes of {}, but their part '{}{}' is missing",
                        codes().name, printable(module_), ending);
  }
  void check_words(const SafeTensor& of) const {
    if (is_words(of)) return;
    stored_.fail_tensor(of.name, "is stored as {} instead of I32", of.type);
  }
  void check_shape(const SafeTensor& of, const Shape& wanted) const {
    if (of.shape == wanted) return;
    stored_.fail_tensor(of.name, "is {} instead of the {} that its Linear needs",
                        fmt::join(of.shape, " x "), fmt::join(wanted, " x "));
  }
  // Checks the number of dimensions: 2, or up to `most` for tensors of blocks.
  void check_dims(size_t dims, size_t most) const {
    const size_t has = tensor_.shape.size();
    if (has >= dims && has <= most && tensor_.elements > 0) return;
    stored_.fail_tensor(tensor_.name, "is {}, which is not a matrix of codes",
                        fmt::join(tensor_.shape, " x "));
  }

  // Begins the description of a tensor's codes, named `name`, in this layout. Throws if
  // quantization_config lists no weights of the layout.
  void begin(HfLayout layout, const char* name) {
    codes().name = name;
    layout_ = layout;
    if (quant_.find(layout) != nullptr) return;
    stored_.fail_tensor(tensor_.name,
                        "holds quantised codes of {}, which quantization_config does not mention",
                        hf_layout_name(layout));
  }
  void set_size(uint64_t rows, uint64_t k, uint32_t bits) {
    codes().rows = rows;
    codes().k = k;
    codes().bits = bits;
    if (out_.shape.empty()) out_.shape = {rows, k};
    const bool said = std::ranges::any_of(quant_.weights, [&](const HfWeights& weights) {
      return weights.layout == layout_ && weights.bits == bits;
    });
    if (said || quant_.varies) return;
    stored_.fail_tensor(tensor_.name,
                        "has {} bits a code, which quantization_config does not mention", bits);
  }
  void set_along_rows(CodeValue value, uint64_t line_bytes) {
    codes().order = CodeOrder::kAlongRows;
    codes().value = value;
    codes().line_bytes = line_bytes;
  }

  // Sets the columns per group from the number of groups in a row of `scales`.
  void set_groups(const SafeTensor& scales, uint64_t groups) {
    const uint64_t k = codes().k;
    std::optional<uint64_t> group;
    for (const HfWeights& weights : quant_.weights) {
      if (weights.layout != layout_) continue;
      const uint64_t said = weights.scaled == HfScaled::kGroup ? weights.group : k;
      if (said != 0 && blocks_of(k, said) == groups) group = std::min(said, k);
    }
    if (!group && quant_.varies && groups > 0 && k % groups == 0) group = k / groups;
    if (!group || (*group < k && *group % kGroupGranule != 0)) {
      stored_.fail_tensor(scales.name,
                          "is {}: its number of scales for {} columns does not fit "
                          "quantization_config, or gives groups that are not a multiple of {}",
                          fmt::join(scales.shape, " x "), k, kGroupGranule);
    }
    codes().group = *group;
    codes().groups = groups;
  }
  void set_scale_type(const SafeTensor& scales, std::span<const ScaleType> types) {
    const auto at = std::ranges::find(types, scales.type, &ScaleType::name);
    if (at == types.end()) {
      std::string names;
      for (const ScaleType& type : types) names += fmt::format(" {}", type.name);
      stored_.fail_tensor(scales.name, "is stored as {} instead of one of{}", scales.type, names);
    }
    codes().scale = at->form;
    codes().scales = part(scales);
  }
  // Sets scales of shape [N][groups], or [N] if a row has one group.
  void set_scales(const SafeTensor& scales, std::span<const ScaleType> types) {
    set_scale_type(scales, types);
    const uint64_t rows = codes().rows;
    const uint64_t groups = scales.shape == Shape{rows} ? 1 : scales.elements / rows;
    if (scales.shape != Shape{rows}) check_shape(scales, {rows, groups});
    set_groups(scales, groups);
    codes().scale_row = groups;
    codes().scale_group = 1;
  }
  // Sets scales of shape [groups][N].
  void set_scales_down(const SafeTensor& scales) {
    set_scale_type(scales, kFloatScales);
    const uint64_t rows = codes().rows;
    check_shape(scales, {scales.elements / rows, rows});
    set_groups(scales, scales.shape[0]);
    codes().scale_row = 1;
    codes().scale_group = rows;
  }
  void set_zeros(const SafeTensor& zeros, ZeroOrder order, const Shape& shape) {
    check_words(zeros);
    check_shape(zeros, shape);
    codes().zero_order = order;
    codes().zeros = part(zeros);
  }
  // Sets the group index of every column, if the file has such indices.
  void set_column_groups(const SafeTensor* columns) {
    if (columns == nullptr) return;
    check_words(*columns);
    check_shape(*columns, {codes().k});
    const std::span<const std::byte> data = stored_.bytes_of(*columns);
    bool in_order = true;
    for (uint64_t c = 0; c < codes().k; ++c) {
      const int64_t group = whole_number(columns->type, data, c);
      if (group < 0 || group >= static_cast<int64_t>(codes().groups)) {
        stored_.fail_tensor(columns->name, "puts column {} into group {}, but there are {} groups",
                            c, group, codes().groups);
      }
      in_order = in_order && static_cast<uint64_t>(group) == c / codes().group;
    }
    if (in_order) return;
    codes().column_groups = part(*columns);
    codes().column_order = columns_by_group(codes());
  }
  // Sets the one factor of the whole Linear, which values are multiplied with, or `divided` by.
  void set_factor(const SafeTensor& of, bool divided) {
    if (of.type != "F32" || of.elements != 1) {
      stored_.fail_tensor(of.name, "is {} of {} instead of one F32", fmt::join(of.shape, " x "),
                          of.type);
    }
    std::memcpy(&codes().factor, stored_.bytes_of(of).data(), sizeof(float));
    codes().divided = divided;
    if (std::isfinite(codes().factor) && codes().factor > 0) return;
    stored_.fail_tensor(of.name, "is {}, which is not a scale", codes().factor);
  }

  void make_packed() {
    begin(HfLayout::kPacked, "packed4");
    check_dims(2, 2);
    const auto [rows, k] = stored_shape();
    uint32_t bits = 4;
    if (tensor_.shape != Shape{rows, blocks_of(k, kWordBits / bits)}) {
      bits = 8;
      codes().name = "packed8";
      check_shape(tensor_, {rows, blocks_of(k, kWordBits / bits)});
    }
    set_size(rows, k, bits);
    set_along_rows(CodeValue::kInteger, tensor_.shape[1] * sizeof(uint32_t));
    set_scales(need(kWeightScale), kFloatScales);
    codes().zero = 1 << (bits - 1);
    const bool has_zeros =
        !quant_.weights.empty() && std::ranges::none_of(quant_.weights, &HfWeights::symmetric);
    if (const SafeTensor* zeros = has_zeros ? &need(kZeroPoint) : take(kZeroPoint)) {
      set_zeros(*zeros, ZeroOrder::kDownGroups,
                {blocks_of(rows, kWordBits / bits), codes().groups});
    }
    set_column_groups(take(kWeightGroups));
  }
  // Returns N and K as the tensor weight_shape has them.
  std::pair<uint64_t, uint64_t> stored_shape() {
    const SafeTensor& shape = need(kWeightShape);
    if (shape.elements != 2 || (shape.type != "I64" && shape.type != "I32")) {
      stored_.fail_tensor(shape.name, "is {} of {} instead of two I64",
                          fmt::join(shape.shape, " x "), shape.type);
    }
    const std::span<const std::byte> data = stored_.bytes_of(shape);
    const int64_t rows = whole_number(shape.type, data, 0), k = whole_number(shape.type, data, 1);
    constexpr int64_t kMax = int64_t{1} << 31;
    if (rows < 1 || k < 1 || rows > kMax || k > kMax) {
      stored_.fail_tensor(shape.name, "gives the shape {} x {}, which is not a matrix", rows, k);
    }
    return {rows, k};
  }

  void make_gptq() {
    begin(HfLayout::kGptq, "gptq4");
    check_words(tensor_);
    check_dims(2, 2);
    const uint64_t rows = tensor_.shape[1];
    const SafeTensor& zeros = need(kQzeros);
    // The width of the zeros tells how many bits a code has.
    const bool bytes = zeros.shape.size() == 2 && zeros.shape[1] == rows / 4 && rows % 4 == 0;
    const uint32_t bits = bytes ? 8 : 4, per = kWordBits / bits;
    if (bytes) codes().name = "gptq8";
    set_size(rows, tensor_.shape[0] * per, bits);
    codes().order = CodeOrder::kAlongColumns;
    codes().zero_offset = static_cast<int32_t>(quant_.zero_offset);
    set_q_parts(zeros, ZeroOrder::kAlongRows);
    set_column_groups(take(kQgroups));
  }
  void make_awq() {
    begin(HfLayout::kAwq, "awq4");
    check_words(tensor_);
    check_dims(2, 2);
    constexpr uint32_t kBits = 4;
    set_size(tensor_.shape[1] * (kWordBits / kBits), tensor_.shape[0], kBits);
    codes().order = CodeOrder::kAcrossRows;
    set_q_parts(need(kQzeros), ZeroOrder::kAwq);
  }
  void set_q_parts(const SafeTensor& zeros, ZeroOrder order) {
    codes().value = CodeValue::kInteger;
    const uint64_t rows = codes().rows, per = kWordBits / codes().bits;
    if (rows % per != 0) {
      stored_.fail_tensor(tensor_.name, "has {} rows, which is not a multiple of {}", rows, per);
    }
    set_scales_down(need(kQscales));
    set_zeros(zeros, order, {codes().groups, rows / per});
    settle_zeros();
  }
  // If all zeros are the middle of the codes, as symmetric Linears store them, drops them, since
  // packs need none then. Also notes zeros of 256, which do not fit a byte.
  void settle_zeros() {
    const uint32_t bits = codes().bits, middle = 1u << (bits - 1);
    const auto offset = static_cast<uint32_t>(codes().zero_offset);
    const uint32_t ones = UINT32_MAX / ((1u << bits) - 1);  // a 1 in every code of a word
    const std::span<const std::byte> data = codes().zeros.data;
    const bool may_be_wide = bits == 8 && offset == 1;
    const bool symmetric = std::ranges::any_of(quant_.weights, &HfWeights::symmetric);
    if (!symmetric && !may_be_wide) return;
    bool same = true;
    for (size_t i = 0; i < data.size() / sizeof(uint32_t); ++i) {
      uint32_t word;
      std::memcpy(&word, data.data() + i * sizeof word, sizeof word);
      same = same && word == ones * (middle - offset);
      if (!same && !may_be_wide) return;
      for (uint32_t rest = word; may_be_wide && rest != 0; rest >>= 8) {
        codes().wide_zeros = codes().wide_zeros || (rest & 0xff) == 0xff;
      }
    }
    if (!same) return;
    codes().zero_order = ZeroOrder::kNone;
    codes().zero = static_cast<int32_t>(middle);
    codes().zeros = {};
  }

  void make_int8() {
    begin(HfLayout::kInt8, "int8");
    check_dims(2, 2);
    set_size(tensor_.shape[0], tensor_.shape[1], 8);
    set_along_rows(CodeValue::kSigned, codes().k);
    const SafeTensor& scales = need(kWeightScale);
    if (scales.elements != 1) return set_scales(scales, kFloatScales);
    set_scale_type(scales, kFloatScales);
    codes().group = codes().k;
    codes().groups = 1;
    codes().scale_row = codes().scale_group = 0;
  }
  void make_mxfp8() {
    begin(HfLayout::kMxfp8, "mxfp8");
    check_dims(2, 2);
    set_size(tensor_.shape[0], tensor_.shape[1], 8);
    set_along_rows(CodeValue::kE4M3, codes().k);
    set_scales(need(peek(kWeightScale) != nullptr ? kWeightScale : kScaleInv), kExponents);
  }
  // Describes codes of E2M1, two to a byte.
  void set_pairs() {
    check_dims(2, 2);
    if (tensor_.type != "U8") {
      stored_.fail_tensor(tensor_.name, "is stored as {} instead of U8", tensor_.type);
    }
    set_size(tensor_.shape[0], tensor_.shape[1] * 2, 4);
    set_along_rows(CodeValue::kE2M1, tensor_.shape[1]);
  }
  void make_mxfp4() {
    begin(HfLayout::kMxfp4, "mxfp4");
    set_pairs();
    set_scales(need(kWeightScale), kExponents);
  }
  void make_nvfp4() {
    begin(HfLayout::kNvfp4, "nvfp4");
    set_pairs();
    set_scales(need(kWeightScale), kE4M3);
    const bool divided = tensor_.name.ends_with(kPackedWeight);
    set_factor(need(divided ? kGlobalScale : kScale2), divided);
  }
  // Describes gpt-oss's experts: blocks [..][N][K / 32][16] and scales [..][N][K / 32].
  void make_blocks() {
    begin(HfLayout::kMxfp4, "mxfp4");
    check_dims(3, 4);
    const Shape& shape = tensor_.shape;
    if (shape.back() != kBlockBytes || tensor_.type != "U8") {
      stored_.fail_tensor(tensor_.name, "is {} of {} instead of blocks of 16 U8",
                          fmt::join(shape, " x "), tensor_.type);
    }
    const SafeTensor& scales = need(kMxScales);
    check_shape(scales, {shape.begin(), shape.end() - 1});
    const uint64_t k = shape[shape.size() - 2] * kMxBlock;
    out_.shape.assign(shape.begin(), shape.end() - 2);
    out_.shape.push_back(k);
    set_size(tensor_.elements * 2 / k, k, 4);
    set_along_rows(CodeValue::kE2M1, k / 2);
    set_scale_type(scales, kExponents);
    set_groups(scales, k / kMxBlock);
    codes().scale_row = codes().groups;
    codes().scale_group = 1;
  }

  const SafeTensor& tensor_;
  const HfQuant& quant_;
  HfStored& stored_;
  std::string module_;
  HfLayout layout_ = {};
  HfLinear out_ = {};
};

}  // namespace

HfRole hf_role(std::string_view name) {
  auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (std::ranges::any_of(kUnusedEndings, ends)) return HfRole::kUnused;
  return std::ranges::any_of(kParts, ends) ? HfRole::kPart : HfRole::kWhole;
}

std::string hf_whole_name(std::string_view name) {
  for (std::string_view ending : {kPackedWeight, kQweight}) {
    if (!name.ends_with(ending)) continue;
    return std::string(name.substr(0, name.size() - ending.size())).append(kWeight);
  }
  if (name.ends_with(kBlocks)) name.remove_suffix(kBlocks.size());
  return std::string(name);
}

bool holds_codes(const SafeTensor& tensor, const HfStored& stored) {
  const std::string_view name = tensor.name;
  if (hf_role(name) != HfRole::kWhole) return false;
  if (hf_whole_name(name) != name) return true;
  if (!name.ends_with(kWeight)) return false;
  if (tensor.type != "F8_E4M3") return tensor.type == "U8" || tensor.type == "I8";
  return std::ranges::any_of(std::array{kHfScales, kHfBlockScales}, [&](std::string_view ending) {
    const SafeTensor* scales = stored.find(tensor.name + std::string(ending));
    return scales != nullptr && (scales->type == "U8" || scales->type == "F8_E8M0");
  });
}

HfLinear make_hf_linear(const SafeTensor& tensor, const HfQuant& quant, HfStored& stored) {
  return LinearMaker(tensor, quant, stored).make();
}

}  // namespace hearth
