#include "formats/hf_quant.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/error.h"

namespace hearth {
namespace {

constexpr const char* kInstead =
    "use the model in BF16 or FP8 as safetensors, or as a GGUF file, instead";
constexpr uint32_t kMaxGroup = 1u << 16;
constexpr uint32_t kMxGroup = 32, kNvfp4Group = 16;

// Sets the group size from `key`; -1 stands for a whole row.
void set_group(const ConfigReader& of, const char* key, HfWeights* weights) {
  const boost::json::value* value = of.find(key);
  weights->scaled = HfScaled::kRow;
  if (value != nullptr && value->is_int64() && value->get_int64() == -1) return;
  weights->scaled = HfScaled::kGroup;
  weights->group = of.need_count(key, kMaxGroup);
}

uint32_t bits_of(const ConfigReader& of, const char* key) {
  const uint32_t bits = of.need_count(key, 64);
  if (bits != 4 && bits != 8) of.fail_unsupported(key, "it supports 4 and 8");
  return bits;
}

void keep_texts(const ConfigReader& of, const char* key, HfQuant* quant) {
  std::vector<std::string> kept = of.texts(key).value_or(std::vector<std::string>());
  std::ranges::move(kept, std::back_inserter(quant->kept));
}

// Throws unless blocks are of 128 x 128, the only size that is read.
void check_block(const ConfigReader& of, const char* key) {
  const boost::json::value* block = of.find(key);
  const boost::json::value wanted = {128, 128};
  if (block == nullptr || *block != wanted) of.fail_unsupported(key, "it supports [128,128]");
}

void read_fp8(const ConfigReader& of, HfQuant* quant) {
  if (of.text_or("fmt", "e4m3") != "e4m3") of.fail_unsupported("fmt", "it supports e4m3");
  keep_texts(of, "modules_to_not_convert", quant);
  keep_texts(of, "ignored_layers", quant);
  const bool blocks = of.has("weight_block_size");
  if (blocks) check_block(of, "weight_block_size");
  quant->weights.push_back({HfLayout::kFp8, 8, blocks ? HfScaled::kSquare : HfScaled::kTensor});
}

void read_fbgemm(const ConfigReader& of, HfQuant* quant) {
  keep_texts(of, "modules_to_not_convert", quant);
  quant->weights.push_back({HfLayout::kFp8, 8, HfScaled::kRow});
}

void read_mxfp8(const ConfigReader& of, HfQuant* quant) {
  keep_texts(of, "modules_to_not_convert", quant);
  quant->weights.push_back({HfLayout::kMxfp8, 8, HfScaled::kGroup, kMxGroup});
}

void read_mxfp4(const ConfigReader& of, HfQuant* quant) {
  keep_texts(of, "modules_to_not_convert", quant);
  quant->weights.push_back({HfLayout::kMxfp4, 4, HfScaled::kGroup, kMxGroup});
}

void read_gptq(const ConfigReader& of, HfQuant* quant) {
  const char* key = of.has("checkpoint_format") ? "checkpoint_format" : "format";
  const std::string format = of.text_or(key, "gptq");
  if (format != "gptq" && format != "gptq_v2") {
    of.fail_unsupported(key, "it supports gptq and gptq_v2");
  }
  HfWeights weights{HfLayout::kGptq, bits_of(of, "bits"), HfScaled::kRow};
  set_group(of, "group_size", &weights);
  weights.symmetric = of.flag_or("sym", true);
  quant->weights.push_back(weights);
  quant->zero_offset = format == "gptq" ? 1 : 0;
  quant->varies = of.has("dynamic");
  keep_texts(of, "modules_to_not_convert", quant);
}

void read_awq(const ConfigReader& of, HfQuant* quant) {
  const std::string version = of.text_or("version", "gemm");
  if (version != "gemm" && version != "GEMM") of.fail_unsupported("version", "it supports gemm");
  const char* bits = of.has("bits") ? "bits" : "w_bit";
  if (bits_of(of, bits) != 4) of.fail_unsupported(bits, "it supports 4");
  HfWeights weights{HfLayout::kAwq, 4, HfScaled::kRow};
  set_group(of, of.has("group_size") ? "group_size" : "q_group_size", &weights);
  if (!of.flag_or("zero_point", true)) of.fail_unsupported("zero_point", "it supports true");
  weights.symmetric = false;
  quant->weights.push_back(weights);
  keep_texts(of, "modules_to_not_convert", quant);
}

void read_auto_round(const ConfigReader& of, HfQuant* quant) {
  const std::string format = of.text_or("packing_format", "auto_round:auto_gptq");
  if (format == "auto_round:auto_gptq") {
    read_gptq(of, quant);
  } else if (format == "auto_round:auto_awq") {
    read_awq(of, quant);
  } else {
    of.fail_unsupported("packing_format",
                        "it supports auto_round:auto_gptq and auto_round:auto_awq");
  }
  quant->varies = quant->varies || of.has("extra_config");
}

// A value of modelopt's key quant_algo. If a model uses several algorithms, each Linear states its
// own.
struct Algorithm {
  const char* name;
  HfWeights weights;
};
constexpr std::array<Algorithm, 5> kAlgorithms = {{
    {"FP8", {HfLayout::kFp8, 8, HfScaled::kTensor}},
    {"FP8_PER_CHANNEL_PER_TOKEN", {HfLayout::kFp8, 8, HfScaled::kRow}},
    {"FP8_PB_WO", {HfLayout::kFp8, 8, HfScaled::kSquare}},
    {"NVFP4", {HfLayout::kNvfp4, 4, HfScaled::kGroup, kNvfp4Group}},
    {"MXFP8", {HfLayout::kMxfp8, 8, HfScaled::kGroup, kMxGroup}},
}};

void add_algorithm(const ConfigReader& of, HfQuant* quant) {
  constexpr const char* kKey = "quant_algo";
  const std::string name = of.text_or(kKey, "");
  const auto* at = std::ranges::find(kAlgorithms, std::string_view(name), &Algorithm::name);
  if (at == kAlgorithms.end()) {
    of.fail_unsupported(kKey,
                        "it supports FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, NVFP4, MXFP8");
  }
  if (quant->find(at->weights.layout) == nullptr) quant->weights.push_back(at->weights);
}

void read_modelopt(const ConfigReader& of, HfQuant* quant) {
  keep_texts(of, "exclude_modules", quant);
  keep_texts(of, "ignore", quant);
  if (of.text_or("quant_algo", "") != "MIXED_PRECISION") return add_algorithm(of, quant);
  const std::optional<ConfigReader> layers = of.object("quantized_layers");
  if (!layers) of.refuse("quantized_layers", "an object of Linears");
  for (const auto& [name, layer] : of.find("quantized_layers")->get_object()) {
    const std::optional<ConfigReader> one = layers->object({name.data(), name.size()});
    if (one) add_algorithm(*one, quant);
  }
}

// A format of compressed-tensors.
struct Format {
  const char* name;
  HfLayout layout;
  const char* type;  // the type of the codes; a format with both types has two rows
};
constexpr std::array<Format, 8> kFormats = {{
    {"pack-quantized", HfLayout::kPacked, "int"},
    {"int-quantized", HfLayout::kInt8, "int"},
    {"float-quantized", HfLayout::kFp8, "float"},
    {"naive-quantized", HfLayout::kInt8, "int"},
    {"naive-quantized", HfLayout::kFp8, "float"},
    {"nvfp4-pack-quantized", HfLayout::kNvfp4, "float"},
    {"mxfp4-pack-quantized", HfLayout::kMxfp4, "float"},
    {"mxfp8-quantized", HfLayout::kMxfp8, "float"},
}};

void set_strategy(const ConfigReader& of, HfWeights* weights) {
  constexpr const char* kKey = "strategy";
  const std::string strategy = of.text_or(kKey, of.has("group_size") ? "group" : "tensor");
  if (strategy == "tensor") {
    weights->scaled = HfScaled::kTensor;
  } else if (strategy == "channel") {
    weights->scaled = HfScaled::kRow;
  } else if (strategy == "block") {
    weights->scaled = HfScaled::kSquare;
    check_block(of, "block_structure");
  } else if (strategy == "group" || strategy == "tensor_group") {
    weights->scaled = HfScaled::kGroup;
    weights->group = of.need_count("group_size", kMaxGroup);
  } else {
    of.fail_unsupported(kKey, "it supports tensor, channel, block, group and tensor_group");
  }
}

// Returns whether this program reads the weights' bits and group size, which the layout leaves
// open.
bool fits(const HfWeights& weights) {
  const bool group = weights.scaled == HfScaled::kGroup;
  switch (weights.layout) {
    case HfLayout::kPacked:
      return (weights.bits == 4 || weights.bits == 8) &&
             (group || weights.scaled == HfScaled::kRow);
    case HfLayout::kFp8:
      return weights.bits == 8 && !group;
    case HfLayout::kNvfp4:
      return weights.bits == 4 && group && weights.group == kNvfp4Group;
    case HfLayout::kMxfp4:
      return weights.bits == 4 && group && weights.group == kMxGroup;
    case HfLayout::kMxfp8:
      return weights.bits == 8 && group && weights.group == kMxGroup;
    default:
      return weights.bits == 8 && weights.scaled != HfScaled::kSquare;
  }
}

void read_config_group(const ConfigReader& all, const ConfigReader& group, HfQuant* quant) {
  const std::optional<ConfigReader> of = group.object("weights");
  if (!of) return;  // only activations are quantised
  const ConfigReader& says = group.has("format") ? group : all;
  const std::string format = says.text_or("format", ""), type = of->text_or("type", "int");
  const auto* at = std::ranges::find_if(
      kFormats, [&](const Format& row) { return row.name == format && row.type == type; });
  if (at == kFormats.end()) {
    says.fail_unsupported("format",
                          "it supports pack-quantized, int-quantized, float-quantized, "
                          "naive-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized and "
                          "mxfp8-quantized, each with weights of its own type");
  }
  HfWeights weights{at->layout, of->need_count("num_bits", 64), HfScaled::kTensor};
  set_strategy(*of, &weights);
  weights.symmetric = of->flag_or("symmetric", true);
  if (!weights.symmetric && weights.layout != HfLayout::kPacked) {
    of->fail_unsupported("symmetric", "it supports zero points only in pack-quantized");
  }
  if (!fits(weights)) {
    of->fail_unsupported(
        "num_bits",
        "it supports 4 and 8 bits in groups and rows (pack-quantized), 8 bits (int-quantized, "
        "float-quantized, groups of 32 in mxfp8-quantized), and 4 bits in groups of 16 "
        "(nvfp4-pack-quantized) or 32 (mxfp4-pack-quantized)");
  }
  quant->weights.push_back(weights);
}

void read_compressed(const ConfigReader& of, HfQuant* quant) {
  keep_texts(of, "ignore", quant);
  if (const std::optional<ConfigReader> sparsity = of.object("sparsity_config")) {
    if (sparsity->text_or("format", "dense") != "dense") {
      sparsity->fail_unsupported("format", "it supports dense");
    }
  }
  const std::optional<ConfigReader> groups = of.object("config_groups");
  if (!groups) of.refuse("config_groups", "an object of groups");
  for (const auto& [name, group] : of.find("config_groups")->get_object()) {
    const std::optional<ConfigReader> one = groups->object({name.data(), name.size()});
    if (one) read_config_group(of, *one, quant);
  }
}

struct Method {
  const char* name;
  void (*read)(const ConfigReader& of, HfQuant* quant);  // null: refused
};
constexpr std::array<Method, 16> kMethods = {{{"fp8", read_fp8},
                                              {"fbgemm_fp8", read_fbgemm},
                                              {"mxfp8", read_mxfp8},
                                              {"mxfp4", read_mxfp4},
                                              {"modelopt", read_modelopt},
                                              {"modelopt_fp4", read_modelopt},
                                              {"compressed-tensors", read_compressed},
                                              {"gptq", read_gptq},
                                              {"awq", read_awq},
                                              {"auto-round", read_auto_round},
                                              {"intel/auto-round", read_auto_round},
                                              {"bitsandbytes", nullptr},
                                              {"hqq", nullptr},
                                              {"aqlm", nullptr},
                                              {"exl2", nullptr},
                                              {"exl3", nullptr}}};

HfQuant read_method(const ConfigReader& of, const std::string& method) {
  const auto* at = std::ranges::find(kMethods, std::string_view(method), &Method::name);
  if (at == kMethods.end()) {
    of.fail_unsupported("quant_method",
                        "it supports fp8, fbgemm_fp8, mxfp8, mxfp4, modelopt, compressed-tensors, "
                        "gptq, awq and auto-round");
  }
  if (at->read == nullptr) of.fail_unsupported("quant_method", kInstead);
  HfQuant quant{method};
  at->read(of, &quant);
  return quant;
}

// Returns whether the pattern, in which * stands for any text, matches the whole text. If the match
// fails after a star, the last star takes one character more.
bool is_like(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Turns a regular expression of literals and .* into a pattern with *, which matches at the
// beginning of a name.
std::string stars_of(std::string_view expression) {
  std::string out;
  for (size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    if (rest.starts_with(".*")) {
      out += '*';
      ++i;
    } else if (rest.starts_with("\\.")) {
      out += '.';
      ++i;
    } else if (rest == "$") {
      return out;
    } else if (rest[0] != '^' || i > 0) {
      out += rest[0];
    }
  }
  return out + "*";
}

}  // namespace

const char* hf_layout_name(HfLayout layout) {
  constexpr std::array<const char*, 8> kNames = {"fp8",    "mxfp8", "mxfp4", "nvfp4",
                                                 "packed", "int8",  "gptq",  "awq"};
  return kNames[static_cast<size_t>(layout)];
}

const HfWeights* HfQuant::find(HfLayout layout) const {
  const auto at = std::ranges::find(weights, layout, &HfWeights::layout);
  return at == weights.end() ? nullptr : &*at;
}

bool HfQuant::keeps(std::string_view module) const {
  constexpr std::string_view kExpression = "re:";
  return std::ranges::any_of(kept, [&](std::string_view pattern) {
    if (pattern.starts_with(kExpression)) {
      return is_like(stars_of(pattern.substr(kExpression.size())), module);
    }
    return is_like(pattern, module) ||
           (module.starts_with(pattern) && module.substr(pattern.size()).starts_with('.'));
  });
}

HfQuant read_hf_quant(const ConfigReader& config) {
  constexpr const char* kKey = "quantization_config";
  // MLX also states its quantisation under `quantization`, and names no method.
  const bool mlx = config.has("quantization");
  const std::optional<ConfigReader> of = config.object(mlx ? "quantization" : kKey);
  if (!of) return {};
  if (mlx) of->fail_unsupported("bits", std::string("this is MLX's own format; ") + kInstead);
  return read_method(*of, of->text_or("quant_method", ""));
}

HfQuant read_hf_quant_file(const ConfigReader& document) {
  const std::optional<ConfigReader> of = document.object("quantization");
  if (!of) document.refuse("quantization", "an object");
  HfQuant quant{"modelopt"};
  if (of->has("quant_algo")) read_modelopt(*of, &quant);
  return quant;
}

}  // namespace hearth
