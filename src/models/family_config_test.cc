// Tests the metadata that is made of each folder family's config.json.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/json_reader.h"
#include "formats/hf_config.h"
#include "models/registry.h"

namespace hearth {
namespace {

// Returns the text of a config.json. Keys in `more` override those before them, since the last of a
// repeated key counts.
std::string config_text(const std::string& architecture, const std::string& more) {
  return R"({"architectures": [")" + architecture + R"("], "hidden_size": 512,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
    "max_position_embeddings": 4096, "intermediate_size": 1000, "vocab_size": 300,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu")" +
         more + "}";
}

struct Read {
  MadeMetadata made;
  HfConfig config;

  Read(const std::string& architecture, const std::string& more)
      : config(read(config_text(architecture, more))) {}
  HfConfig read(const std::string& text) {
    const boost::json::value json = read_json(text);
    const std::string file = "config.json";
    return read_hf_config(ConfigReader(json.get_object(), file), all_hf_families(), made);
  }
  uint64_t operator[](HfValue value) const { return config[value]; }
  // Returns every key as "name value", in alphabetical order, without those that all models have.
  std::string keys() const {
    const std::set<std::string_view> common = {"block_count",
                                               "context_length",
                                               "embedding_length",
                                               "feed_forward_length",
                                               "vocab_size",
                                               "attention.head_count",
                                               "attention.layer_norm_rms_epsilon",
                                               "rope.freq_base"};
    std::vector<std::string> lines;
    const Metadata metadata = made.metadata("config.json");
    for (const MetaEntry& entry : metadata.entries()) {
      std::string_view key = entry.key;
      if (key == "general.architecture") continue;
      key.remove_prefix(config.key("").size());
      if (common.contains(key)) continue;
      lines.push_back(fmt::format("{} {}", key, meta_value_text(entry.value)));
    }
    std::sort(lines.begin(), lines.end());
    return fmt::format("{}", fmt::join(lines, "\n"));
  }
  template <typename T>
  T get(const std::string& key) const {
    return made.metadata("config.json").require<T>(key);
  }
};

std::string error_of(const std::string& architecture, const std::string& more,
                     ErrorCode code = ErrorCode::kFile) {
  try {
    Read read(architecture, more);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

constexpr const char* kDeepseek = R"(, "n_routed_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 96, "n_shared_experts": 2, "first_k_dense_replace": 1,
    "routed_scaling_factor": 2.5, "norm_topk_prob": true, "n_group": 4, "topk_group": 2,
    "scoring_func": "sigmoid", "topk_method": "noaux_tc", "q_lora_rank": 48, "kv_lora_rank": 32,
    "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 20,
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                     "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1})";

TEST(HfConfig, KeysOfALlama) {
  Read read("LlamaForCausalLM", "");
  EXPECT_STREQ(read.config.family->gguf, "llama");
  EXPECT_TRUE(read.config.family->halves);
  EXPECT_EQ(read[HfValue::kLayers], 4u);
  EXPECT_EQ(read.get<uint32_t>("llama.block_count"), 4u);
  EXPECT_EQ(read.get<uint32_t>("llama.context_length"), 4096u);
  EXPECT_EQ(read.get<uint32_t>("llama.embedding_length"), 512u);
  EXPECT_EQ(read.get<uint32_t>("llama.feed_forward_length"), 1000u);
  EXPECT_EQ(read.get<uint32_t>("llama.attention.head_count"), 8u);
  EXPECT_EQ(read.get<uint32_t>("llama.vocab_size"), 300u);
  EXPECT_EQ(read.get<float>("llama.attention.layer_norm_rms_epsilon"), 1e-5f);
  EXPECT_EQ(read.get<float>("llama.rope.freq_base"), 10000.0f);
  EXPECT_EQ(read.keys(),
            "attention.head_count_kv 2\nattention.key_length 64\nattention.value_length 64\n"
            "rope.dimension_count 64");
}

TEST(HfConfig, BaseModelsHaveNamesOfTheirOwn) {
  EXPECT_STREQ(Read("Qwen3Model", "").config.family->gguf, "qwen3");
  EXPECT_STREQ(Read("MistralModel", "").config.family->gguf, "llama");
  for (const char* name : {"Model", "QwenModel", "Qwen3", "Qwen3ForCausalLMModel"}) {
    EXPECT_NE(error_of(name, "", ErrorCode::kUnsupported).find("' has the architecture '"),
              std::string::npos)
        << name;
  }
}

TEST(HfConfig, WindowsAndLengthsOfHeads) {
  Read mistral("MistralForCausalLM", R"(, "head_dim": 128, "sliding_window": 1024)");
  EXPECT_EQ(mistral.keys(),
            "attention.head_count_kv 2\nattention.key_length 128\nattention.sliding_window 1024\n"
            "attention.value_length 128\nrope.dimension_count 128");
  EXPECT_FALSE(Read("Qwen2ForCausalLM", "").config.family->halves);
  const char* off = R"(, "use_sliding_window": false, "sliding_window": 1024)";
  EXPECT_EQ(Read("Qwen3ForCausalLM", off).keys().find("window"), std::string::npos);
  const char* on = R"(, "use_sliding_window": true, "sliding_window": 9, "max_window_layers": )";
  EXPECT_NE(Read("Qwen2ForCausalLM", on + std::string("0")).keys().find("window 9"),
            std::string::npos);
  EXPECT_EQ(Read("Qwen2ForCausalLM", on + std::string("4")).keys().find("window"),
            std::string::npos);
  EXPECT_EQ(error_of("Qwen2ForCausalLM", on + std::string("2"), ErrorCode::kUnsupported),
            "'config.json' has max_window_layers = 2, which this version does not support: it "
            "supports a sliding window only in all layers or in none");
}

// Returns the key layer_types, from a letter for each layer: s is sliding_attention, f
// full_attention.
std::string kinds(std::string_view letters) {
  std::string list;
  for (char letter : letters) {
    list += fmt::format(R"({}"{}_attention")", list.empty() ? "" : ", ",
                        letter == 's' ? "sliding" : "full");
  }
  return fmt::format(R"(, "layer_types": [{}])", list);
}

TEST(HfConfig, LayerTypesDecideOnWindows) {
  const std::string on = R"(, "use_sliding_window": true, "sliding_window": 9)";
  auto has_window = [](const char* architecture, const std::string& more) {
    return Read(architecture, more).keys().find("window 9") != std::string::npos;
  };
  EXPECT_TRUE(has_window("Qwen3ForCausalLM", on + kinds("ssss")));
  EXPECT_FALSE(has_window("Qwen3ForCausalLM", on + kinds("ffff")));
  EXPECT_FALSE(has_window("Qwen3ForCausalLM", R"(, "sliding_window": 9)" + kinds("ssss")));
  EXPECT_TRUE(has_window("MistralForCausalLM", on + kinds("ssss")));
  EXPECT_FALSE(has_window("MistralForCausalLM", kinds("ffff")));
  EXPECT_FALSE(has_window("DeepseekV3ForCausalLM", kDeepseek + kinds("ffff")));
  // The first 28 layers have no window by default (max_window_layers).
  EXPECT_FALSE(has_window("Qwen2ForCausalLM", on));
  auto refused = [](const char* architecture, const std::string& more, const char* found,
                    ErrorCode code = ErrorCode::kUnsupported) {
    const std::string error = error_of(architecture, more, code);
    EXPECT_NE(error.find(found), std::string::npos) << error;
  };
  refused("Qwen3ForCausalLM", on + kinds("sfsf"),
          "it supports a sliding window only in all layers or in none");
  refused("MistralForCausalLM", on + kinds("ffff"), "contradicts");
  refused("DeepseekV3ForCausalLM", kDeepseek + kinds("ssss"), "contradicts");
  refused("LlamaForCausalLM", R"(, "layer_types": ["linear_attention", "full_attention",
      "full_attention", "full_attention"])",
          "it supports full_attention and sliding_attention");
  refused("LlamaForCausalLM", kinds("fff"), "the kinds of 4 layers", ErrorCode::kFile);
}

TEST(HfConfig, KindsOfFeedForwardLayers) {
  auto dense = [](const char* list) {
    Read read("DeepseekV3ForCausalLM", std::string(kDeepseek) + R"(, "mlp_layer_types": )" + list);
    return read.get<uint32_t>("deepseek2.leading_dense_block_count");
  };
  EXPECT_EQ(dense(R"(["dense", "dense", "sparse", "sparse"])"), 2u);
  EXPECT_EQ(dense(R"(["sparse", "sparse", "sparse", "sparse"])"), 0u);
  EXPECT_NE(error_of("DeepseekV3ForCausalLM",
                     std::string(kDeepseek) +
                         R"(, "mlp_layer_types": ["dense", "sparse", "dense", "sparse"])",
                     ErrorCode::kUnsupported)
                .find("mlp_layer_types = an array"),
            std::string::npos);
}

// Each family has defaults of its own for keys that its file lacks.
TEST(HfConfig, DefaultsOfFamilies) {
  const std::string bare = R"(, "rms_norm_eps": null, "rope_theta": null)";
  Read llama("LlamaForCausalLM", bare);
  EXPECT_EQ(llama.get<float>("llama.attention.layer_norm_rms_epsilon"), 1e-6f);
  EXPECT_EQ(llama.get<float>("llama.rope.freq_base"), 1e4f);
  Read mixtral("MixtralForCausalLM",
               bare + R"(, "num_local_experts": 4, "num_experts_per_tok": 2)");
  EXPECT_EQ(mixtral.get<float>("llama.attention.layer_norm_rms_epsilon"), 1e-5f);
  EXPECT_EQ(mixtral.get<float>("llama.rope.freq_base"), 1e6f);
  Read third("DeepseekV3ForCausalLM",
             std::string(kDeepseek) + R"(, "n_group": null, "topk_group": null)");
  EXPECT_EQ(third.get<uint32_t>("deepseek2.expert_group_count"), 8u);
  EXPECT_EQ(third.get<uint32_t>("deepseek2.expert_group_used_count"), 4u);
  // V2 without scoring_func gets no gating here: the router's bias decides it later.
  Read second("DeepseekV2ForCausalLM", std::string(kDeepseek) + R"(, "scoring_func": null)");
  EXPECT_EQ(second.keys().find("gating"), std::string::npos);
}

TEST(HfConfig, KeysOfMinimax) {
  const std::string experts = R"(, "num_local_experts": 6, "num_experts_per_tok": 2)";
  auto keys = [&](const std::string& more) {
    return Read("MiniMaxM2ForCausalLM", experts + more).keys();
  };
  const std::string usual =
      "attention.head_count_kv 2\nattention.key_length 64\nattention.value_length 64\n"
      "expert_count 6\nexpert_feed_forward_length 1000\nexpert_gating_func 2\n"
      "expert_used_count 2\nexpert_weights_norm true\nrope.dimension_count ";
  EXPECT_EQ(keys(R"(, "use_qk_norm": true, "attn_type_list": [1, 1])"), usual + "32");
  EXPECT_EQ(keys(R"(, "rotary_dim": 24)"), usual + "24");
  for (const auto& [more, key] : {std::pair{R"(, "qk_norm_type": "per_head")", "qk_norm_type"},
                                  {R"(, "attn_type_list": [1, 0])", "attn_type_list"},
                                  {R"(, "attn_type_list": 0)", "attn_type_list"},
                                  {R"(, "use_qk_norm": false)", "use_qk_norm"},
                                  {R"(, "shared_intermediate_size": 64)", "shared_intermediate"}}) {
    const std::string error =
        error_of("MiniMaxM2ForCausalLM", experts + more, ErrorCode::kUnsupported);
    EXPECT_NE(error.find(key), std::string::npos) << error;
  }
}

TEST(HfConfig, KeysOfGptOss) {
  const std::string experts = R"(, "num_local_experts": 6, "num_experts_per_tok": 2)";
  auto keys = [&](const std::string& more) {
    return Read("GptOssForCausalLM", experts + more).keys();
  };
  const std::string usual =
      "attention.head_count_kv 2\nattention.key_length 64\nattention.sliding_window 128\n"
      "attention.sliding_window_pattern [true, false, true, false]\nattention.value_length 64\n"
      "expert_count 6\nexpert_feed_forward_length 1000\nexpert_gating_func 3\n"
      "expert_used_count 2\nrope.dimension_count 64";
  EXPECT_EQ(keys(""), usual);
  EXPECT_EQ(keys(R"(, "swiglu_limit": 7.0, "initial_context_length": 4096, "layer_types":
      ["sliding_attention", "full_attention", "sliding_attention", "full_attention"])"),
            usual);
  const std::string yarn = R"(, "rope_scaling": {"rope_type": "yarn", "factor": 32.0,
      "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 4096, "truncate": )";
  EXPECT_NE(keys(yarn + "false}").find("yarn_truncate false"), std::string::npos);
  EXPECT_EQ(keys(yarn + "true}").find("truncate"), std::string::npos);
  for (const auto& [more, key] : {std::pair{R"(, "swiglu_limit": 8)", "swiglu_limit"},
                                  {R"(, "hidden_act": "gelu")", "hidden_act"}}) {
    const std::string error =
        error_of("GptOssForCausalLM", experts + more, ErrorCode::kUnsupported);
    EXPECT_NE(error.find(key), std::string::npos) << error;
  }
  EXPECT_NE(
      error_of("GptOssForCausalLM", experts + R"(, "sliding_window": 0)").find("sliding_window"),
      std::string::npos);
}

TEST(HfConfig, KeysOfExperts) {
  EXPECT_EQ(
      Read("MixtralForCausalLM", R"(, "num_local_experts": 6, "num_experts_per_tok": 2)").keys(),
      "attention.head_count_kv 2\nattention.key_length 64\nattention.value_length 64\n"
      "expert_count 6\nexpert_gating_func 1\nexpert_used_count 2\nexpert_weights_norm true\n"
      "rope.dimension_count 64");
  Read qwen("Qwen3MoeForCausalLM", R"(, "num_experts": 16, "num_experts_per_tok": 3,
      "moe_intermediate_size": 200, "norm_topk_prob": true, "mlp_only_layers": [],
      "decoder_sparse_step": 1)");
  EXPECT_EQ(qwen[HfValue::kExperts], 16u);
  EXPECT_EQ(qwen.keys(),
            "attention.head_count_kv 2\nattention.key_length 64\nattention.value_length 64\n"
            "expert_count 16\nexpert_feed_forward_length 200\nexpert_gating_func 1\n"
            "expert_used_count 3\nexpert_weights_norm true\nrope.dimension_count 64");
  Read glm("Glm4MoeForCausalLM", R"(, "n_routed_experts": 8, "num_experts_per_tok": 2,
      "moe_intermediate_size": 96, "n_shared_experts": 1, "first_k_dense_replace": 1,
      "routed_scaling_factor": 1.5, "norm_topk_prob": true, "n_group": 1, "topk_group": 1,
      "partial_rotary_factor": 0.5, "num_nextn_predict_layers": 1)");
  EXPECT_EQ(glm[HfValue::kPredictLayers], 1u);
  EXPECT_EQ(glm.keys(),
            "attention.head_count_kv 2\nattention.key_length 64\nattention.value_length 64\n"
            "expert_count 8\nexpert_feed_forward_length 96\nexpert_gating_func 2\n"
            "expert_group_count 1\nexpert_group_used_count 1\nexpert_shared_count 1\n"
            "expert_used_count 2\nexpert_weights_norm true\nexpert_weights_scale 1.5\n"
            "leading_dense_block_count 1\nrope.dimension_count 32");
}

TEST(HfConfig, KeysOfLatentAttention) {
  Read read("DeepseekV3ForCausalLM", kDeepseek);
  EXPECT_STREQ(read.config.family->gguf, "deepseek2");
  EXPECT_EQ(read[HfValue::kNopeLength], 24u);
  EXPECT_EQ(read[HfValue::kHeadLength], 32u);
  EXPECT_EQ(read.keys(),
            "attention.head_count_kv 1\nattention.key_length 40\nattention.key_length_mla 32\n"
            "attention.kv_lora_rank 32\nattention.q_lora_rank 48\nattention.value_length 32\n"
            "attention.value_length_mla 20\nexpert_count 8\nexpert_feed_forward_length 96\n"
            "expert_gating_func 2\nexpert_group_count 4\nexpert_group_used_count 2\n"
            "expert_shared_count 2\nexpert_used_count 2\nexpert_weights_norm true\n"
            "expert_weights_scale 2.5\nleading_dense_block_count 1\nrope.dimension_count 8\n"
            "rope.scaling.factor 40\nrope.scaling.original_context_length 4096\n"
            "rope.scaling.type \"yarn\"\nrope.scaling.yarn_beta_fast 32\n"
            "rope.scaling.yarn_beta_slow 1\nrope.scaling.yarn_log_multiplier 0.1");
  // V2-Lite: no low rank for queries, and its groups are not used.
  Read lite("DeepseekV2ForCausalLM",
            std::string(kDeepseek) +
                R"(, "q_lora_rank": null, "scoring_func": "softmax", "topk_method": "greedy")");
  EXPECT_EQ(lite.keys().find("group"), std::string::npos);
  EXPECT_EQ(lite.keys().find("q_lora"), std::string::npos);
  EXPECT_EQ(lite.get<uint32_t>("deepseek2.expert_gating_func"), 1u);
}

TEST(HfConfig, RopeUnderBothNames) {
  const char* scaling = R"({"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5})";
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    Read read("Qwen2ForCausalLM", fmt::format(R"(, "rope_theta": null, "{}": {})", name, scaling));
    EXPECT_EQ(read.get<std::string>("qwen2.rope.scaling.type"), "linear");
    EXPECT_EQ(read.get<float>("qwen2.rope.scaling.factor"), 4.0f);
    EXPECT_EQ(read.get<float>("qwen2.rope.freq_base"), 5e5f);
  }
  Read plain("Qwen2ForCausalLM", R"(, "rope_parameters": {"rope_type": "default"})");
  EXPECT_EQ(plain.keys().find("scaling"), std::string::npos);
  // Settings are given by kinds of layers; those of kinds without layers are ignored.
  const char* by_kind = R"(, "rope_theta": null, "rope_parameters": {{
      "full_attention": {{"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5}},
      "sliding_attention": {{"rope_type": "default", "rope_theta": 1e4}}}}{})";
  Read full("Qwen2ForCausalLM", fmt::format(fmt::runtime(by_kind), kinds("ffff")));
  EXPECT_EQ(full.get<float>("qwen2.rope.scaling.factor"), 4.0f);
  EXPECT_EQ(full.get<float>("qwen2.rope.freq_base"), 5e5f);
  EXPECT_NE(
      error_of("Qwen2ForCausalLM", fmt::format(fmt::runtime(by_kind), ""), ErrorCode::kUnsupported)
          .find("it supports only models whose layers all use the same RoPE"),
      std::string::npos);
}

// YaRN's growth of cosines without mscale_all_dim is the usual one, and needs no key.
TEST(HfConfig, GrowthOfYarn) {
  auto factor = [](const char* more) {
    Read read("Qwen3ForCausalLM",
              fmt::format(R"(, "rope_scaling": {{"type": "yarn", "factor": 4.0{}}})", more));
    EXPECT_EQ(read.get<uint32_t>("qwen3.rope.scaling.original_context_length"), 4096u);
    const Metadata metadata = read.made.metadata("config.json");
    return metadata.get<float>("qwen3.rope.scaling.attn_factor").value_or(1);
  };
  const double usual = 1 + 0.1 * std::log(4);
  EXPECT_EQ(factor(""), 1);
  EXPECT_FLOAT_EQ(factor(R"(, "attention_factor": 1.0)"), static_cast<float>(1 / usual));
  EXPECT_FLOAT_EQ(factor(R"(, "mscale": 0.5, "mscale_all_dim": 1.0)"),
                  static_cast<float>((1 + 0.05 * std::log(4)) / usual / usual));
}

// The factors of Llama 3.1, with the settings of https://huggingface.co/meta-llama/Llama-3.1-8B. A
// wave of 2 pi base^(2 i / 64) positions is short below 8192 / 4 and long above 8192.
TEST(HfConfig, FactorsOfLlama3) {
  Read read("LlamaForCausalLM", R"(, "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
      "rope_type": "llama3"})");
  const std::vector<float>& factors = read.config.rope_factors;
  ASSERT_EQ(factors.size(), 32u);
  for (size_t i = 0; i < 32; ++i) {
    const double wave = 2 * M_PI * std::pow(500000.0, static_cast<double>(i) / 32);
    double wanted = wave < 2048 ? 1 : 8;
    if (wave >= 2048 && wave <= 8192) {
      const double smooth = (8192 / wave - 1) / 3;
      wanted = 1 / ((1 - smooth) / 8 + smooth);
    }
    EXPECT_FLOAT_EQ(factors[i], static_cast<float>(wanted)) << i;
  }
  EXPECT_EQ(factors[0], 1);
  EXPECT_EQ(factors[31], 8);
}

TEST(HfConfig, NamesUnsupportedConfigurations) {
  struct Case {
    const char* architecture;
    const char* more;
    const char* found;
  };
  constexpr Case kCases[] = {
      {"FalconForCausalLM", "",
       "has the architecture 'FalconForCausalLM', which this version cannot run from a folder; it "
       "runs "
       "LlamaForCausalLM, MistralForCausalLM"},
      {"LlamaForCausalLM", R"(, "hidden_act": "gelu")", "hidden_act = \"gelu\""},
      {"LlamaForCausalLM", R"(, "rope_scaling": {"type": "longrope"})",
       "rope_scaling.type = \"longrope\", which this version does not support: it supports "
       "default, "
       "linear, yarn, llama3 and proportional"},
      {"LlamaForCausalLM", R"(, "rope_parameters": {"full_attention": {},
          "sliding_attention": {"rope_theta": 1e6}})",
       "rope_parameters.sliding_attention"},
      {"LlamaForCausalLM", R"(, "rope_scaling": {"factor": 4.0})",
       "rope_scaling.rope_type = missing"},
      {"LlamaForCausalLM", R"(, "rope_parameters": {"llama_4_scaling_beta": 0.1})",
       "rope_parameters.llama_4_scaling_beta = 1E-1"},
      {"LlamaForCausalLM", R"(, "partial_rotary_factor": 0.5)", "partial_rotary_factor = 5E-1"},
      {"LlamaForCausalLM", R"(, "final_logit_softcapping": 30.0)", "final_logit_softcapping = 3E1"},
      {"LlamaForCausalLM", R"(, "embedding_multiplier": 12)", "embedding_multiplier = 12"},
      {"LlamaForCausalLM", R"(, "no_rope_layers": [1, 0, 1, 1])", "no_rope_layers = an array"},
      {"LlamaForCausalLM", R"(, "quantization_config": {"quant_method": "hqq"})",
       "quantization_config.quant_method = \"hqq\""},
      {"LlamaForCausalLM",
       R"(, "quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 128]})",
       "quantization_config.weight_block_size = an array"},
      {"LlamaForCausalLM", R"(, "quantization_config": {"quant_method": "fp8", "fmt": "e5m2"})",
       "quantization_config.fmt = \"e5m2\""},
      {"Qwen3MoeForCausalLM",
       R"(, "num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [1])",
       "mlp_only_layers = an array"},
      {"DeepseekV3ForCausalLM",
       R"(, "qk_nope_head_dim": 4, "v_head_dim": 4, "kv_lora_rank": 4, "qk_rope_head_dim": 4,
          "rope_scaling": {"type": "yarn", "factor": 4, "mscale": 0.5, "mscale_all_dim": 1.0})",
       "rope_scaling.mscale = 5E-1"},
  };
  for (const Case& test : kCases) {
    const std::string error = error_of(test.architecture, test.more, ErrorCode::kUnsupported);
    EXPECT_NE(error.find(test.found), std::string::npos) << error;
  }
  const char* good = R"(, "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
      "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]})";
  EXPECT_EQ(Read("LlamaForCausalLM", good)[HfValue::kLayers], 4u);
}

TEST(HfConfig, ValuesThatCannotBeAreNamed) {
  struct Case {
    const char* more;
    const char* found;
  };
  constexpr Case kCases[] = {
      {R"(, "num_hidden_layers": -3)",
       "'config.json' has num_hidden_layers = -3, but the value must be a whole number from 1 to "
       "1024"},
      {R"(, "num_hidden_layers": 1e300)", "num_hidden_layers = 1E300"},
      {R"(, "num_hidden_layers": "4")", "num_hidden_layers = \"4\""},
      {R"(, "num_hidden_layers": null)", "has no num_hidden_layers"},
      {R"(, "hidden_size": 1.5)", "hidden_size = 1.5"},
      {R"(, "vocab_size": 18446744073709551615)", "vocab_size = 18446744073709551615"},
      {R"(, "rms_norm_eps": 0)", "rms_norm_eps = 0, but the value must be a positive number"},
      {R"(, "rope_theta": 1e-50)", "rope_theta"},
      {R"(, "rope_scaling": 4)", "rope_scaling = 4, but the value must be an object"},
      {R"(, "rope_scaling": {"type": "linear", "factor": -1})", "rope_scaling.factor = -1"},
      {R"(, "rope_scaling": {"type": "linear"})", "rope_scaling.factor = missing"},
      {R"(, "rope_scaling": {"type": "default", "rope_theta": 5e5})",
       "10000, as rope_theta outside this object says"},
      {R"(, "rope_scaling": {"type": "llama3", "low_freq_factor": 4.0})", "high_freq_factor"},
      {R"(, "tie_word_embeddings": 1)",
       "tie_word_embeddings = 1, but the value must be true or false"},
      {R"(, "architectures": [])", "architectures"},
      {R"(, "architectures": ["a", "b"])", "architectures"},
      {R"(, "num_attention_heads": 0)", "num_attention_heads = 0"},
      {R"(, "hidden_act": 1)", "hidden_act = 1, but the value must be a string"},
  };
  for (const Case& test : kCases) {
    const std::string error = error_of("LlamaForCausalLM", test.more);
    EXPECT_NE(error.find(test.found), std::string::npos) << error;
  }
  EXPECT_NE(error_of("MixtralForCausalLM", R"(, "num_local_experts": 4, "num_experts_per_tok": 5)")
                .find("num_experts_per_tok = 5, but the value must be a whole number from 1 to 4"),
            std::string::npos);
  EXPECT_NE(error_of("DeepseekV3ForCausalLM", std::string(kDeepseek) + R"(, "n_group": 3)")
                .find("n_group = 3, but the value must be a divisor of the 8 experts"),
            std::string::npos);
  EXPECT_NE(error_of("DeepseekV3ForCausalLM", std::string(kDeepseek) + R"(, "topk_group": 5)")
                .find("topk_group = 5, but the value must be a whole number from 1 to 4"),
            std::string::npos);
}

TEST(HfConfig, SettingsOfGeneration) {
  auto keys = [](const char* text) {
    const boost::json::value json = read_json(text);
    const std::string file = "generation_config.json";
    MadeMetadata made;
    read_generation_config(ConfigReader(json.get_object(), file), made);
    std::string lines;
    const Metadata metadata = made.metadata(file);
    for (const MetaEntry& entry : metadata.entries()) {
      lines += fmt::format("{} {}\n", entry.key, meta_value_text(entry.value));
    }
    return lines;
  };
  EXPECT_EQ(keys(R"({"do_sample": true, "temperature": 0.5, "top_p": 0.75, "top_k": 20})"),
            "general.sampling.temp 0.5\ngeneral.sampling.top_p 0.75\ngeneral.sampling.top_k 20\n");
  EXPECT_EQ(keys(R"({"temperature": 0.5})"), "");
  EXPECT_EQ(keys(R"({"do_sample": true, "temperature": "hot", "top_k": -1})"), "");
}

}  // namespace
}  // namespace hearth
