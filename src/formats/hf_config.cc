#include "formats/hf_config.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/printable.h"
#include "formats/hf_encoder_config.h"
#include "formats/hf_rope.h"
#include "formats/hf_unread.h"

namespace hearth {
namespace {

constexpr uint32_t kMostLayers = 1024, kMostWidth = 1u << 17, kMostFfn = 1u << 20,
                   kMostHeads = 1024, kMostLength = 1u << 14, kMostContext = 1u << 24,
                   kMostVocabulary = 1u << 24, kMostExperts = 1u << 14;
// As GGUF numbers them.
constexpr uint32_t kSoftmax = 1, kSigmoid = 2;
// Where Qwen's windows begin, and how DeepSeek-V3 groups experts, if nothing is said.
constexpr uint32_t kQwenFirstWindow = 28, kGroups = 8, kGroupsUsed = 4;

enum class Family { kLlama, kMixtral, kQwen, kQwenMoe, kDeepseek2, kDeepseek3, kGlmMoe };

struct Architecture {
  std::string_view name;  // in config.json
  const char* gguf;
  Family family;
};

constexpr std::array<Architecture, 9> kArchitectures = {
    {{"LlamaForCausalLM", "llama", Family::kLlama},
     {"MistralForCausalLM", "llama", Family::kLlama},
     {"MixtralForCausalLM", "llama", Family::kMixtral},
     {"Qwen2ForCausalLM", "qwen2", Family::kQwen},
     {"Qwen3ForCausalLM", "qwen3", Family::kQwen},
     {"Qwen3MoeForCausalLM", "qwen3moe", Family::kQwenMoe},
     {"DeepseekV2ForCausalLM", "deepseek2", Family::kDeepseek2},
     {"DeepseekV3ForCausalLM", "deepseek2", Family::kDeepseek3},
     {"Glm4MoeForCausalLM", "glm4moe", Family::kGlmMoe}}};

// The base model of an architecture, which has no head, has a name of its own.
bool is_named(const Architecture& architecture, std::string_view name) {
  if (name == architecture.name) return true;
  constexpr std::string_view kHead = "ForCausalLM", kBase = "Model";
  const std::string_view family =
      architecture.name.substr(0, architecture.name.size() - kHead.size());
  return name.size() == family.size() + kBase.size() && name.starts_with(family) &&
         name.ends_with(kBase);
}

// The only name that architectures has.
std::string architecture_of(const ConfigReader& config) {
  std::vector<std::string> names =
      config.texts("architectures").value_or(std::vector<std::string>());
  if (names.size() != 1) config.refuse("architectures", "an array of one name");
  return std::move(names[0]);
}

const Architecture& find_architecture(const ConfigReader& config) {
  const std::string name = architecture_of(config);
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (is_named(architecture, name)) return architecture;
    known += fmt::format("{}, ", architecture.name);
  }
  fail(ErrorCode::kUnsupported,
       "'{}' is of architecture '{}', which this version cannot run from a folder; it runs {}{}",
       config.file(), printable(name), known, hf_encoder_names());
}

// Reads one model's keys into metadata and into what is told of it.
class Reader {
 public:
  Reader(const ConfigReader& config, MadeMetadata& metadata)
      : config_(config), metadata_(metadata), family_(find_architecture(config).family) {
    out_.architecture = find_architecture(config).gguf;
  }

  HfConfig read() {
    metadata_.set("general.architecture", out_.architecture);
    check_quantization();
    refuse_unread_keys(config_);
    if (std::string act = config_.text_or("hidden_act", "silu"); act != "silu") {
      config_.fail_unsupported("hidden_act", "it runs silu");
    }
    out_.layers = config_.need_count("num_hidden_layers", kMostLayers);
    set("block_count", out_.layers);
    out_.predict_layers = config_.count_or("num_nextn_predict_layers", 0, kMostLayers, 0);
    context_ = config_.need_count("max_position_embeddings", kMostContext);
    set("context_length", context_);
    set("embedding_length", config_.need_count("hidden_size", kMostWidth));
    set("feed_forward_length", config_.need_count("intermediate_size", kMostFfn));
    set("vocab_size", config_.need_count("vocab_size", kMostVocabulary));
    set("attention.layer_norm_rms_epsilon",
        config_.real_or("rms_norm_eps", is(Family::kMixtral, Family::kGlmMoe) ? 1e-5 : 1e-6));
    out_.tied = config_.flag_or("tie_word_embeddings", false);
    out_.halves = is(Family::kLlama, Family::kMixtral);
    read_heads();
    read_window();
    read_experts();
    return std::move(out_);
  }

 private:
  void set(const char* key, uint32_t value) { metadata_.set(full(key), value); }
  void set(const char* key, double value) { metadata_.set(full(key), static_cast<float>(value)); }
  void set(const char* key, bool value) { metadata_.set(full(key), value); }
  std::string full(const char* key) const { return fmt::format("{}.{}", out_.architecture, key); }
  bool is(Family a, Family b) const { return family_ == a || family_ == b; }
  bool deepseek() const { return is(Family::kDeepseek2, Family::kDeepseek3); }

  // Which tensors are FP8 their types tell; what matters is that a scale is of 128 x 128.
  void check_quantization() const {
    std::optional<ConfigReader> quantization = config_.object("quantization_config");
    if (!quantization) return;
    if (quantization->text_or("quant_method", "") != "fp8") {
      quantization->fail_unsupported("quant_method", "it runs fp8 in blocks of 128 x 128");
    }
    if (quantization->text_or("fmt", "e4m3") != "e4m3") {
      quantization->fail_unsupported("fmt", "it runs e4m3");
    }
    quantization->texts("modules_to_not_convert");
    const boost::json::value* block = quantization->find("weight_block_size");
    const boost::json::value wanted = {128, 128};
    if (block == nullptr || *block != wanted) {
      quantization->fail_unsupported("weight_block_size", "it runs [128,128]");
    }
  }

  void read_heads() {
    const uint32_t heads = config_.need_count("num_attention_heads", kMostHeads);
    set("attention.head_count", heads);
    out_.heads = heads;
    if (deepseek()) return read_latent();
    out_.kv_heads = config_.count_or("num_key_value_heads", heads, kMostHeads);
    set("attention.head_count_kv", out_.kv_heads);
    const uint32_t even = config_.need_count("hidden_size", kMostWidth) / heads;
    out_.head_length = config_.count_or("head_dim", std::max(even, 1u), kMostLength);
    set("attention.key_length", out_.head_length);
    set("attention.value_length", out_.head_length);
    const uint32_t turned = turned_length();
    set("rope.dimension_count", turned);
    out_.rope_factors = read_hf_rope(config_,
                                     {.prefix = out_.architecture + ".",
                                      .length = turned,
                                      .context = context_,
                                      .base = family_ == Family::kMixtral ? 1e6 : 1e4},
                                     metadata_);
  }

  // GLM alone turns a part of a head.
  uint32_t turned_length() const {
    const bool glm = family_ == Family::kGlmMoe;
    constexpr const char* kKey = "partial_rotary_factor";
    std::optional<double> part = config_.real(kKey);
    std::optional<ConfigReader> rope = rope_object(config_);
    if (!part && rope) part = rope->real(kKey);
    if (part.value_or(1) > 1) config_.refuse(kKey, "1 at most");
    if (!glm && part.value_or(1) != 1) config_.fail_unsupported(kKey, "it runs 1");
    return static_cast<uint32_t>(out_.head_length * part.value_or(glm ? 0.5 : 1));
  }

  void read_latent() {
    HfLatent latent{};
    latent.nope_length = config_.need_count("qk_nope_head_dim", kMostLength);
    latent.value_length = config_.need_count("v_head_dim", kMostLength);
    latent.rank = config_.need_count("kv_lora_rank", kMostLength);
    const uint32_t turned = config_.need_count("qk_rope_head_dim", kMostLength);
    out_.latent = latent;
    out_.kv_heads = 1;
    out_.head_length = latent.nope_length + turned;
    if (!config_.flag_or("rope_interleave", true)) {
      config_.fail_unsupported("rope_interleave", "it runs true");
    }
    if (auto rank = config_.count("q_lora_rank", kMostWidth)) set("attention.q_lora_rank", *rank);
    set("attention.kv_lora_rank", latent.rank);
    set("attention.head_count_kv", 1u);
    set("attention.key_length", latent.rank + turned);
    set("attention.value_length", latent.rank);
    set("attention.key_length_mla", out_.head_length);
    set("attention.value_length_mla", latent.value_length);
    set("rope.dimension_count", turned);
    out_.rope_factors = read_hf_rope(config_,
                                     {.prefix = out_.architecture + ".",
                                      .length = turned,
                                      .context = context_,
                                      .scaled_scores = true},
                                     metadata_);
  }

  // The window of every layer: config.json may name the kind of each. Qwen's windows are off by
  // default, and begin with a layer where kinds are not named.
  void read_window() {
    std::optional<uint32_t> window;
    const bool none = family_ == Family::kGlmMoe || deepseek();
    const bool qwen = is(Family::kQwen, Family::kQwenMoe);
    if (!none && (!qwen || config_.flag_or("use_sliding_window", false))) {
      window = config_.count("sliding_window", kMostContext);
    }
    if (config_.has("layer_types")) return read_layer_types(window, /*windowed=*/!qwen && window);
    if (!window) return;
    const uint32_t first =
        qwen ? config_.count_or("max_window_layers", kQwenFirstWindow, kMostLayers, 0) : 0;
    if (first >= out_.layers) return;
    if (first != 0) {
      config_.fail_unsupported("max_window_layers", "all layers must have a window, or none");
    }
    set("attention.sliding_window", *window);
  }

  // `windowed`: the family's own reader gives all layers a window, whatever their kinds.
  void read_layer_types(std::optional<uint32_t> window, bool windowed) {
    constexpr const char* kKey = "layer_types";
    const std::vector<std::string> kinds = *config_.texts(kKey);
    if (kinds.size() < out_.layers) {
      config_.refuse(kKey, fmt::format("the kinds of {} layers", out_.layers));
    }
    const auto end = kinds.begin() + out_.layers;
    const auto sliding = std::count(kinds.begin(), end, "sliding_attention");
    const auto full = std::count(kinds.begin(), end, "full_attention");
    if (sliding + full != out_.layers) {
      config_.fail_unsupported(kKey, "it runs full_attention and sliding_attention");
    }
    const bool window_less = family_ == Family::kGlmMoe || deepseek();
    if (sliding > 0 && full > 0 && (window || window_less)) {
      config_.fail_unsupported(kKey, "all layers must have a window, or none");
    }
    if ((windowed && full > 0) || (window_less && sliding > 0)) {
      config_.fail_unsupported(kKey, "it contradicts what the architecture says of windows");
    }
    if (window && sliding > 0) set("attention.sliding_window", *window);
  }

  void read_experts() {
    switch (family_) {
      case Family::kLlama:
      case Family::kQwen:
        return;
      case Family::kMixtral:
        count_experts("num_local_experts");
        check_every_layer();
        set("expert_gating_func", kSoftmax);
        return set("expert_weights_norm", true);
      case Family::kQwenMoe:
        count_experts(config_.has("num_experts") ? "num_experts" : "num_local_experts");
        check_every_layer();
        set("expert_feed_forward_length", config_.need_count("moe_intermediate_size", kMostFfn));
        set("expert_gating_func", kSoftmax);
        return set("expert_weights_norm", config_.flag_or("norm_topk_prob", false));
      case Family::kDeepseek2:
      case Family::kDeepseek3:
      case Family::kGlmMoe:
        return read_routed();
    }
  }

  void count_experts(const char* key) {
    out_.experts = config_.need_count(key, kMostExperts);
    set("expert_count", out_.experts);
    set("expert_used_count", config_.need_count("num_experts_per_tok", out_.experts));
  }

  void check_every_layer() const {
    if (config_.count_or("decoder_sparse_step", 1, kMostLayers) != 1) {
      config_.fail_unsupported("decoder_sparse_step", "every layer must have experts");
    }
    if (config_.has("mlp_layer_types") && leading_dense(0) != 0) {
      config_.fail_unsupported("mlp_layer_types", "every layer must have experts");
    }
    const boost::json::value* dense = config_.find("mlp_only_layers");
    if (dense != nullptr && (!dense->is_array() || !dense->get_array().empty())) {
      config_.fail_unsupported("mlp_only_layers", "every layer must have experts");
    }
  }

  // Where config.json leaves something out, as each family's own configuration has it.
  void read_routed() {
    const bool third = family_ == Family::kDeepseek3, glm = family_ == Family::kGlmMoe;
    count_experts("n_routed_experts");
    set("expert_feed_forward_length", config_.need_count("moe_intermediate_size", kMostFfn));
    if (auto shared = config_.count("n_shared_experts", kMostExperts, 0)) {
      set("expert_shared_count", *shared);
    }
    set("leading_dense_block_count", leading_dense(third ? 3 : glm ? 1 : 0));
    if (config_.count_or("moe_layer_freq", 1, kMostLayers) != 1) {
      config_.fail_unsupported("moe_layer_freq",
                               "every layer behind the dense ones must have experts");
    }
    set("expert_weights_scale", config_.real_or("routed_scaling_factor", third ? 2.5 : 1));
    set("expert_weights_norm", config_.flag_or("norm_topk_prob", third || glm));
    const std::string score = config_.text_or("scoring_func", third || glm ? "sigmoid" : "softmax");
    if (score != "sigmoid" && score != "softmax") {
      config_.fail_unsupported("scoring_func", "it runs softmax and sigmoid");
    }
    // Without a word of V2's file, a bias among its tensors may tell.
    if (third || glm || config_.has("scoring_func")) {
      set("expert_gating_func", score == "sigmoid" ? kSigmoid : kSoftmax);
    }
    read_groups(third || glm ? "noaux_tc" : "greedy");
  }

  // Newer files name the kind of every layer's FFN.
  uint32_t leading_dense(uint32_t otherwise) const {
    constexpr const char* kKey = "mlp_layer_types";
    const std::optional<std::vector<std::string>> kinds = config_.texts(kKey);
    if (!kinds) return config_.count_or("first_k_dense_replace", otherwise, out_.layers, 0);
    const auto first = std::ranges::find_if(*kinds, [](auto& kind) { return kind != "dense"; });
    const auto dense = static_cast<uint32_t>(first - kinds->begin());
    if (kinds->size() < out_.layers || dense > out_.layers) {
      config_.refuse(kKey, fmt::format("the kinds of {} layers", out_.layers));
    }
    if (std::any_of(first, kinds->end(), [](auto& kind) { return kind != "sparse"; })) {
      config_.fail_unsupported(kKey, "it runs dense layers, and behind them sparse ones");
    }
    return dense;
  }

  void read_groups(const char* otherwise) {
    const std::string method = config_.text_or("topk_method", otherwise);
    if (method == "greedy") return;
    if (method != "group_limited_greedy" && method != "noaux_tc") {
      config_.fail_unsupported("topk_method", "it runs greedy, group_limited_greedy and noaux_tc");
    }
    const bool third = family_ == Family::kDeepseek3;
    const uint32_t groups = config_.count_or("n_group", third ? kGroups : 1, out_.experts);
    if (out_.experts % groups != 0) {
      config_.refuse("n_group", fmt::format("a divisor of the {} experts", out_.experts));
    }
    set("expert_group_count", groups);
    set("expert_group_used_count", config_.count_or("topk_group", third ? kGroupsUsed : 1, groups));
  }

  const ConfigReader& config_;
  MadeMetadata& metadata_;
  Family family_;
  HfConfig out_;
  uint32_t context_ = 0;
};

}  // namespace

HfConfig read_hf_config(const ConfigReader& config, MadeMetadata& metadata) {
  const std::string name = architecture_of(config);
  if (is_hf_encoder(name)) return read_hf_encoder_config(name, config, metadata);
  return Reader(config, metadata).read();
}

void read_generation_config(const ConfigReader& config, MadeMetadata& metadata) {
  struct Key {
    const char* from;
    const char* to;
  };
  constexpr std::array<Key, 4> kReals = {
      {{"temperature", "general.sampling.temp"},
       {"top_p", "general.sampling.top_p"},
       {"min_p", "general.sampling.min_p"},
       {"repetition_penalty", "general.sampling.penalty_repeat"}}};
  // Without it, the file's settings are not meant to be used.
  const boost::json::value* sampled = config.find("do_sample");
  if (sampled == nullptr || !sampled->is_bool() || !sampled->get_bool()) return;
  for (const Key& key : kReals) {
    const boost::json::value* value = config.find(key.from);
    if (value == nullptr || !value->is_number()) continue;
    metadata.set(key.to, static_cast<float>(value->to_number<double>()));
  }
  const boost::json::value* top_k = config.find("top_k");
  if (top_k != nullptr && top_k->is_int64() && top_k->get_int64() >= 0 &&
      top_k->get_int64() <= kMostVocabulary) {
    metadata.set("general.sampling.top_k", static_cast<uint32_t>(top_k->get_int64()));
  }
}

}  // namespace hearth
