#include "formats/hf_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
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
// DeepSeek-V3 has 94,000.
constexpr size_t kMostTensors = 1'000'000;
// GGUF's number of the routing that a bias corrects.
constexpr uint32_t kSigmoidGating = 2;
constexpr ConfigType kFp8 = {"", "F8_E4M3", DType::kF8E4M3}, kFloat = kConfigTypes[2];

class Lister {
 public:
  Lister(const ConfigReader& config, const HfConfig& model, const Metadata& metadata)
      : config_(config), model_(model), metadata_(metadata), width_(need("embedding_length")) {
    const char* key = config.has("dtype") ? "dtype" : "torch_dtype";
    const std::string name = config.text_or(key, "bfloat16");
    auto at = std::ranges::find(kConfigTypes, std::string_view(name), &ConfigType::in_config);
    if (at == kConfigTypes.end())
      config.fail_unsupported(key, "it runs bfloat16, float16 and float32");
    plain_ = *at;
    if (std::optional<ConfigReader> quantization = config.object("quantization_config")) {
      fp8_ = true;
      kept_ = quantization->texts("modules_to_not_convert").value_or(std::vector<std::string>());
    }
  }

  std::vector<SafeTensor> list() {
    const uint64_t vocabulary = need("vocab_size");
    add("model.embed_tokens.weight", plain_, {vocabulary, width_});
    if (!model_.tied) add("lm_head.weight", plain_, {vocabulary, width_});
    add("model.norm.weight", plain_, {width_});
    for (uint32_t layer = 0; layer < model_.layers; ++layer) {
      layer_ = fmt::format("model.layers.{}.", layer);
      norm("input_layernorm", width_);
      norm("post_attention_layernorm", width_);
      if (model_.latent) {
        latent_attention(*model_.latent);
      } else {
        attention();
      }
      if (model_.experts > 0 && layer >= optional("leading_dense_block_count")) {
        experts();
      } else {
        swiglu("mlp.", need("feed_forward_length"));
      }
    }
    return std::move(tensors_);
  }

 private:
  std::string full(const char* key) const { return fmt::format("{}.{}", model_.architecture, key); }
  uint32_t need(const char* key) const { return metadata_.require<uint32_t>(full(key)); }
  uint32_t optional(const char* key) const {
    return metadata_.get<uint32_t>(full(key)).value_or(0);
  }
  bool qwen3() const { return model_.architecture.starts_with("qwen3"); }
  bool mixtral() const { return model_.architecture == "llama"; }

  void add(std::string name, const ConfigType& type, std::vector<uint64_t> shape) {
    if (tensors_.size() == kMostTensors) {
      fail(ErrorCode::kFile, "'{}' calls for more than {} tensors; the file is damaged",
           config_.file(), kMostTensors);
    }
    SafeTensor tensor;
    tensor.name = std::move(name);
    tensor.type = type.in_file;
    tensor.dtype = type.dtype;
    tensor.elements = 1;
    for (uint64_t dim : shape) tensor.elements *= dim;
    tensor.bytes = row_bytes(type.dtype, tensor.elements);
    tensor.shape = std::move(shape);
    tensors_.push_back(std::move(tensor));
  }

  void norm(std::string_view name, uint64_t length) {
    add(fmt::format("{}{}.weight", layer_, name), plain_, {length});
  }

  // A name in the list stands for all modules in it.
  bool is_kept(std::string_view module) const {
    return std::ranges::any_of(kept_, [&](std::string_view kept) {
      return module == kept ||
             (module.starts_with(kept) && module.substr(kept.size()).starts_with('.'));
    });
  }

  void linear(std::string_view name, uint64_t rows, uint64_t k, bool bias = false) {
    const std::string module = fmt::format("{}{}", layer_, name);
    if (bias) add(module + ".bias", plain_, {rows});
    if (!fp8_ || is_kept(module)) return add(module + ".weight", plain_, {rows, k});
    auto blocks = [](uint64_t n) { return (n + kFp8ScaleBlock - 1) / kFp8ScaleBlock; };
    add(module + ".weight", kFp8, {rows, k});
    add(module + ".weight_scale_inv", kFloat, {blocks(rows), blocks(k)});
  }

  void attention() {
    const uint64_t queries = uint64_t{model_.heads} * model_.head_length;
    const uint64_t keys = uint64_t{model_.kv_heads} * model_.head_length;
    const bool bias = config_.flag_or("attention_bias", model_.architecture == "qwen2");
    linear("self_attn.q_proj", queries, width_, bias);
    linear("self_attn.k_proj", keys, width_, bias);
    linear("self_attn.v_proj", keys, width_, bias);
    const bool output_bias = bias && (qwen3() || model_.architecture == "llama");
    linear("self_attn.o_proj", width_, queries, output_bias);
    if (!qwen3() && !config_.flag_or("use_qk_norm", false)) return;
    norm("self_attn.q_norm", model_.head_length);
    norm("self_attn.k_norm", model_.head_length);
  }

  void latent_attention(const HfLatent& latent) {
    const uint64_t heads = model_.heads, turned = need("rope.dimension_count");
    const uint64_t queries = heads * model_.head_length;
    if (const uint64_t rank = optional("attention.q_lora_rank")) {
      linear("self_attn.q_a_proj", rank, width_);
      norm("self_attn.q_a_layernorm", rank);
      linear("self_attn.q_b_proj", queries, rank);
    } else {
      linear("self_attn.q_proj", queries, width_);
    }
    linear("self_attn.kv_a_proj_with_mqa", latent.rank + turned, width_);
    norm("self_attn.kv_a_layernorm", latent.rank);
    linear("self_attn.kv_b_proj", heads * (latent.nope_length + latent.value_length), latent.rank);
    linear("self_attn.o_proj", width_, heads * latent.value_length);
  }

  void swiglu(const std::string& prefix, uint64_t rows) {
    linear(prefix + "gate_proj", rows, width_);
    linear(prefix + "up_proj", rows, width_);
    linear(prefix + "down_proj", width_, rows);
  }

  void experts() {
    const std::string block = mixtral() ? "block_sparse_moe." : "mlp.";
    const uint64_t rows = need(mixtral() ? "feed_forward_length" : "expert_feed_forward_length");
    add(layer_ + block + "gate.weight", plain_, {model_.experts, width_});
    if (optional("expert_gating_func") == kSigmoidGating) {
      add(layer_ + block + "gate.e_score_correction_bias", kFloat, {model_.experts});
    }
    for (uint32_t expert = 0; expert < model_.experts; ++expert) {
      const std::string prefix = fmt::format("{}experts.{}.", block, expert);
      if (!mixtral()) {
        swiglu(prefix, rows);
        continue;
      }
      linear(prefix + "w1", rows, width_);
      linear(prefix + "w3", rows, width_);
      linear(prefix + "w2", width_, rows);
    }
    if (const uint64_t shared = optional("expert_shared_count")) {
      swiglu("mlp.shared_experts.", shared * rows);
    }
  }

  const ConfigReader& config_;
  const HfConfig& model_;
  const Metadata& metadata_;
  const uint64_t width_;
  ConfigType plain_ = {};
  bool fp8_ = false;
  std::vector<std::string> kept_;  // modules that are not FP8
  std::string layer_;              // what names in it begin with
  std::vector<SafeTensor> tensors_;
};

}  // namespace

std::vector<SafeTensor> shapes_of_config(const ConfigReader& config, const HfConfig& model,
                                         const Metadata& metadata) {
  return Lister(config, model, metadata).list();
}

}  // namespace hearth
