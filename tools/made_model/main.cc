// Writes a model of random weights in the shape of a real one, from its config.json alone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "formats/gguf_writer.h"
#include "formats/hf_shape.h"
#include "formats/hf_stored.h"
#include "formats/mapped_file.h"
#include "formats/model_source.h"
#include "models/registry.h"
#include "values.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;
constexpr size_t kMaxChunkBytes = size_t{2} << 20;

class Out {
 public:
  explicit Out(const fs::path& path) : path_(path), file_(path, std::ios::binary) { check(); }

  void write(std::string_view bytes) {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    check();
  }
  // Flushes the file. Throws where something could not be written.
  void finish() {
    file_.flush();
    check();
  }
  void bytes(std::span<const std::byte> all) {
    write({reinterpret_cast<const char*>(all.data()), all.size()});
  }
  void pad_to(uint64_t multiple) {
    const auto at = static_cast<uint64_t>(file_.tellp());
    write(std::string((multiple - at % multiple) % multiple, '\0'));
  }
  void floats(std::span<const float> values) { bytes(std::as_bytes(values)); }
  // Writes blocks of MXFP4 as safetensors files have them, or their scales.
  void mxfp4_part(Values& values, const SafeTensor& of, const Traits& traits) {
    const bool scales = of.name.ends_with("_scales");
    const Normal spread = normal_of(of.name, of.shape[2] * 32, traits);
    std::vector<std::byte> chunk(std::min<uint64_t>(of.bytes, kMaxChunkBytes),
                                 static_cast<std::byte>(mxfp4_exponent(spread.deviation)));
    for (uint64_t left = of.bytes; left > 0;) {
      const auto now = std::span(chunk).first(std::min<uint64_t>(left, chunk.size()));
      if (!scales) values.fill_random(now);
      bytes(now);
      left -= now.size();
    }
  }
  void tensor(Values& values, DType type, Normal spread, uint64_t size) {
    const size_t block = dtype_info(type).block_bytes;
    std::vector<std::byte> chunk(std::min<uint64_t>(size, kMaxChunkBytes / block * block));
    for (uint64_t left = size; left > 0;) {
      const size_t now = std::min<uint64_t>(left, chunk.size());
      values.fill(type, spread, std::span(chunk).first(now));
      bytes(std::span(chunk).first(now));
      left -= now;
    }
  }

 private:
  void check() const {
    if (!file_) fail(ErrorCode::kFile, "'{}' cannot be written; is there room?", path_.native());
  }

  fs::path path_;
  std::ofstream file_;
};

// The effect of a router's bias. kNone: no bias. kZipf: lower experts are chosen more often, with
// the frequencies of words of a language. kSame: all rows choose the lowest.
enum class Skew { kNone, kZipf, kSame };

bool is_router_bias(std::string_view name) {
  return has(name, "exp_probs_b") || has(name, "e_score_correction_bias") ||
         has(name, "ffn_gate_inp.bias") || has(name, "mlp.router.bias");
}

// Returns the bias of each expert. Scores are between 0 and 1, with a deviation of about 0.3.
std::vector<float> router_bias(Skew skew, uint64_t experts) {
  std::vector<float> bias(experts, 0);
  for (uint64_t e = 0; e < experts; ++e) {
    const auto rank = static_cast<float>(e + 1);
    if (skew == Skew::kZipf) bias[e] = 0.3f / rank;
    if (skew == Skew::kSame) bias[e] = 10 / rank;
  }
  return bias;
}

Traits traits_of(std::string_view architecture, uint64_t layers, bool tied) {
  return {.layers = static_cast<uint32_t>(layers),
          .tied = tied,
          .scaled_embedding = architecture.starts_with("gemma"),
          .plain_scores = architecture == "gemma4"};
}

// Writes the tensors of one safetensors file.
void write_safetensors(const fs::path& path, std::span<const SafeTensor> tensors,
                       const Traits& traits, Skew skew, Values& values) {
  std::string header = "{";
  uint64_t at = 0;
  for (const SafeTensor& tensor : tensors) {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", tensor.name, tensor.type,
                          fmt::join(tensor.shape, ","), at, at + tensor.bytes);
    at += tensor.bytes;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  Out out(path);
  const uint64_t header_bytes = header.size();
  out.bytes(std::as_bytes(std::span(&header_bytes, 1)));
  out.write(header);
  uint64_t matrix_k = 0;  // of the previous tensor, whose scales may follow
  for (const SafeTensor& tensor : tensors) {
    std::string_view name = tensor.name;
    if (!tensor.dtype) {
      out.mxfp4_part(values, tensor, traits);
      continue;
    }
    const bool blocks = name.ends_with(kHfBlockScales);
    const bool scales = blocks || name.ends_with(kHfScales);
    uint64_t k = tensor.shape.back();
    if (scales) {
      name.remove_suffix(blocks ? kHfBlockScales.size() : kHfScales.size());
      k = blocks ? k * 128 : matrix_k;
    }
    matrix_k = k;
    if (is_router_bias(name) && tensor.dtype == DType::kF32) {
      out.floats(router_bias(skew, k));
      continue;
    }
    Normal spread = normal_of(name, k, traits);
    if (scales) spread = {spread.deviation / kFp8Deviation, 0};
    out.tensor(values, *tensor.dtype, spread, tensor.bytes);
  }
  out.finish();
}

void write_folder(const std::string& config, const fs::path& folder, Skew skew, Values& values) {
  const MappedFile file = MappedFile::open(config);
  const boost::json::value json = read_json_file(file, kMaxConfigBytes);
  const ConfigReader reader(json.get_object(), file.name());
  MadeMetadata metadata;
  const HfConfig model = read_hf_config(reader, all_hf_families(), metadata);
  const std::vector<SafeTensor> all = shapes_of_config(reader, model);
  const Traits traits =
      traits_of(model.family->gguf, model[HfValue::kLayers], model[HfValue::kTied] != 0);
  fs::create_directories(folder);
  fs::copy_file(config, folder / "config.json", fs::copy_options::overwrite_existing);
  std::string index;
  uint32_t part = 0;
  for (size_t first = 0, last = 0; first < all.size(); first = last) {
    uint64_t bytes = 0;
    while (last < all.size() && (last == first || bytes + all[last].bytes <= kMaxFileBytes)) {
      bytes += all[last++].bytes;
    }
    const std::string name = fmt::format("model-{:05}.safetensors", ++part);
    write_safetensors(folder / name, std::span(all).subspan(first, last - first), traits, skew,
                      values);
    for (size_t i = first; i < last; ++i) {
      index += fmt::format("{}\n\"{}\":\"{}\"", index.empty() ? "" : ",", all[i].name, name);
    }
  }
  Out out(folder / "model.safetensors.index.json");
  out.write("{\"weight_map\":{" + index + "}}\n");
  out.finish();
}

// The types that --type takes. A mixture has a second type, as llama.cpp's Q4_K_M has. It is used
// for the output matrix (or the table that stands for it), and for values and down projections of
// half of the layers. Experts may have another type, as in gpt-oss's files.
struct TypeOption {
  std::string_view name;
  DType type, more, experts;
};
constexpr TypeOption of_one_type(std::string_view name, DType type) {
  return {name, type, type, type};
}
constexpr std::array<TypeOption, 7> kTypes = {
    {of_one_type("f32", DType::kF32),
     of_one_type("f16", DType::kF16),
     of_one_type("bf16", DType::kBF16),
     of_one_type("q8_0", DType::kQ8_0),
     of_one_type("q4_0", DType::kQ4_0),
     {"q4_k_m", DType::kQ4_K, DType::kQ6_K, DType::kQ4_K},
     {"mxfp4", DType::kQ8_0, DType::kQ8_0, DType::kMXFP4}}};

// Returns the layer in a tensor's name, blk.<layer>.<part>; 0 for tensors outside the layers.
uint32_t layer_of(std::string_view name) {
  uint32_t layer = 0;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

// Returns the type that a tensor gets in a GGUF file. Vectors, routers and convolutions are F32, as
// converters leave them. Other tensors that llama.cpp does not quantise are BF16. `head` is the
// name of the output matrix.
DType type_in_gguf(const SourceTensor& tensor, const TypeOption& wanted, std::string_view head) {
  const bool vector = tensor.dims.size() == 1 || tensor.name.ends_with(".bias");
  const bool taps = has(tensor.name, "ssm_conv1d") || has(tensor.name, "shortconv.conv.");
  if (vector || taps || has(tensor.name, "gate_inp")) return DType::kF32;
  const bool codes = dtype_info(wanted.type).block_elements > 1;
  if (codes && has(tensor.name, "per_layer_model_proj")) return DType::kBF16;
  const bool odd = layer_of(tensor.name) % 2 == 1;
  const bool more = has(tensor.name, "attn_v.") || has(tensor.name, "ffn_down");
  const DType main = has(tensor.name, "_exps.") ? wanted.experts : wanted.type;
  const bool second = tensor.name == head || (odd && more && main == wanted.type);
  const DType type = second ? wanted.more : main;
  if (tensor.dims[0] % dtype_info(type).block_elements == 0) return type;
  // llama.cpp uses these types instead if the row length is not a multiple of 256.
  if (type == DType::kQ4_K || type == DType::kQ6_K) {
    const DType other = type == DType::kQ4_K ? DType::kQ5_0 : DType::kQ8_0;
    if (tensor.dims[0] % dtype_info(other).block_elements == 0) return other;
  }
  fail(ErrorCode::kUsage, "rows of {} are {} elements, no multiple of {}'s blocks; take f16",
       tensor.name, tensor.dims[0], dtype_info(type).name);
}

void write_gguf(const std::string& config, const fs::path& path, const TypeOption& type, Skew skew,
                Values& values) {
  const ModelSource source = open_model_shape(config);
  const bool tied = source.find_tensor("output.weight") == nullptr;
  const std::string_view head = tied ? "token_embd.weight" : "output.weight";
  GgufWriter writer;
  for (const MetaEntry& entry : source.metadata().entries()) writer.set(entry.key, entry.value);
  writer.set("tokenizer.ggml.model", "no_vocab");
  for (const SourceTensor& tensor : source.tensors()) {
    writer.declare_tensor(tensor.name, tensor.dims, type_in_gguf(tensor, type, head));
  }
  Out out(path);
  out.bytes(writer.head());
  const auto key = source.metadata().require<std::string_view>("general.architecture");
  const auto layers = source.metadata().require<uint32_t>(fmt::format("{}.block_count", key));
  const Traits traits = traits_of(key, layers, tied);
  for (const SourceTensor& tensor : source.tensors()) {
    const DType stored = type_in_gguf(tensor, type, head);
    if (tensor.name == "rope_freqs.weight") {
      out.bytes(tensor.data);  // config.json gives these values
    } else if (is_router_bias(tensor.name)) {
      out.floats(router_bias(skew, tensor.dims[0]));
    } else {
      out.tensor(values, stored, normal_of(tensor.name, tensor.dims[0], traits),
                 tensor.rows() * row_bytes(stored, tensor.dims[0]));
    }
    out.pad_to(writer.alignment());
  }
  out.finish();
}

int make(const std::string& config, const std::string& to, const std::string& type, Skew skew,
         uint64_t seed) {
  Values values(seed);
  if (!to.ends_with(".gguf")) {
    if (!type.empty()) fail(ErrorCode::kUsage, "--type is for .gguf; a folder has config.json's");
    write_folder(config, to, skew, values);
    return 0;
  }
  for (const TypeOption& option : kTypes) {
    if (type != option.name) continue;
    write_gguf(config, to, option, skew, values);
    return 0;
  }
  fail(ErrorCode::kUsage, "--type is '{}'; it is one of f32, f16, bf16, q8_0, q4_0, q4_k_m, mxfp4",
       type);
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  CLI::App app("Writes a model of random weights in the shape of a real one.");
  std::string config, to, type;
  uint64_t seed = 1;
  app.add_option("CONFIG", config, "config.json of the model, or one like it")->required();
  app.add_option("OUT", to, "a new folder with safetensors files, or a file .gguf")->required();
  app.add_option("--type", type, "of matrices in .gguf: f32, f16, bf16, q8_0, q4_0, q4_k_m, mxfp4");
  hearth::Skew skew = hearth::Skew::kNone;
  const std::map<std::string, hearth::Skew> skews = {
      {"none", hearth::Skew::kNone}, {"zipf", hearth::Skew::kZipf}, {"same", hearth::Skew::kSame}};
  app.add_option("--skew", skew, "how routers with a bias choose: none, zipf, same")
      ->transform(CLI::CheckedTransformer(skews));
  app.add_option("--seed", seed, "of the random numbers")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return hearth::make(config, to, type, skew, seed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "made_model: {}\n", error.what());
    return 1;
  }
}
