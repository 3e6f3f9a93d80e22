// DeepSeek-V2, V3 and R1 (DeepSeek-AI 2024, 2025), Kimi-K2 (Moonshot AI 2025): multi-head latent
// attention (graph/ops/latent.h) and experts behind some dense layers. All but the small models
// have queries of low rank. GGUF files hold W_UK^T and W_UV, each as a matrix for every head.
#include <fmt/format.h>

#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_deepseek2(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_latent_attention(m, layer, RopeLayout::kInterleaved),
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax}), kNormBefore});
  });
}

// The Hugging Face folders of this architecture.

namespace {

// Keys of latent attention. In GGUF's terms the cache is one KV head, of which key_length is the
// length of [c | k_rope] and value_length that of c. Lengths of real heads have keys that end in
// _mla.
constexpr HfKey kLatentKeys[] = {
    hf::count("q_lora_rank", "attention.q_lora_rank", hf::kQLoraRank, ModelMost::kWidth),
    hf::need("kv_lora_rank", "attention.kv_lora_rank", hf::kKvLoraRank, ModelMost::kLength),
    hf::need("qk_rope_head_dim", nullptr, hf::kRopeLength, ModelMost::kLength),
    hf::need("qk_nope_head_dim", nullptr, hf::kNopeLength, ModelMost::kLength),
    hf::need("v_head_dim", nullptr, hf::kValueLength, ModelMost::kLength),
    hf::must_be("rope_interleave", true),
    hf::say("attention.head_count_kv", 1, hf::kKvHeads),
    hf::say("attention.key_length", hf::kLatentKey),
    hf::say("attention.value_length", hf::kKvLoraRank),
    hf::say("attention.key_length_mla", hf::kLatentHead, hf::kHeadLength),
    hf::say("attention.value_length_mla", hf::kValueLength)};

// V2 has no default for scoring_func: without the key, a router bias among the tensors decides the
// gating.
constexpr HfKey kDeepseek2Keys[] = {
    hf::dense_layers(0), hf::real("routed_scaling_factor", "expert_weights_scale", 1),
    hf::flag("norm_topk_prob", "expert_weights_norm", hf::kNone, false),
    hf::choice("scoring_func", "expert_gating_func", hf::kGating, hf::kGatings, nullptr)};
constexpr auto kDeepseek3Keys = hf::scored_expert_keys(3, 2.5);
// GLM-4.7-Flash.
constexpr auto kGlmLiteKeys = hf::scored_expert_keys(1, 1.8);

constexpr HfTensor kLatentTensors[] = {
    hf::where(hf::kQLoraRank,
              hf::matrix("self_attn.q_a_proj", "attn_q_a", hf::kQLoraRank, hf::kWidth)),
    hf::where(hf::kQLoraRank,
              hf::vector("self_attn.q_a_layernorm", "attn_q_a_norm", hf::kQLoraRank)),
    hf::where(hf::kQLoraRank,
              hf::matrix("self_attn.q_b_proj", "attn_q_b", hf::kQueryRows, hf::kQLoraRank)),
    hf::where(hf::kNoQueryRank,
              hf::matrix("self_attn.q_proj", "attn_q", hf::kQueryRows, hf::kWidth)),
    hf::matrix("self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa", hf::kLatentKey, hf::kWidth),
    hf::vector("self_attn.kv_a_layernorm", "attn_kv_a_norm", hf::kKvLoraRank),
    hf::matrix("self_attn.kv_b_proj", "", hf::kLatentPairRows, hf::kKvLoraRank, hf::kNone,
               HfKind::kLatentPair),
    hf::matrix("self_attn.o_proj", "attn_output", hf::kWidth, hf::kLatentValueRows)};

// Returns the folder family of V2 or V3, which choose experts differently: `experts` are the keys
// for that choice, and `read` reads the rest of it.
constexpr HfFamily deepseek_folder(HfTexts names, std::span<const HfKey> experts,
                                   void (*read)(const HfReading& reading)) {
  return {
      .names = names,
      .gguf = "deepseek2",
      .keys = {hf::kDecoderKeys, kLatentKeys},
      .rope = {.scaled_scores = true},
      .more_keys = {hf::kRoutedKeys, experts},
      .read = read,
      .tensors = {hf::kModelTensors, hf::kNormTensors, kLatentTensors, hf::kDenseTensors,
                  hf::kExpertTensors},
  };
}

}  // namespace

void read_expert_groups(const HfReading& reading, const ExpertGroups& otherwise) {
  const ConfigReader& config = reading.config;
  const std::string method = config.text_or("topk_method", otherwise.method);
  if (method == "greedy") return;
  if (method != "group_limited_greedy" && method != "noaux_tc") {
    config.fail_unsupported("topk_method", "it supports greedy, group_limited_greedy and noaux_tc");
  }
  const auto experts = static_cast<uint32_t>(reading.model[HfValue::kExperts]);
  const uint32_t groups = config.count_or("n_group", otherwise.groups, experts);
  if (experts % groups != 0) {
    config.refuse("n_group", fmt::format("a divisor of the {} experts", experts));
  }
  reading.set("expert_group_count", groups);
  reading.set("expert_group_used_count", config.count_or("topk_group", otherwise.used, groups));
}

constinit const HfFamily kDeepseek2Folder =
    deepseek_folder({"DeepseekV2ForCausalLM"}, kDeepseek2Keys, [](const HfReading& reading) {
      read_expert_groups(reading, {"greedy", 1, 1});
    });
constinit const HfFamily kDeepseek3Folder =
    deepseek_folder({"DeepseekV3ForCausalLM"}, kDeepseek3Keys, [](const HfReading& reading) {
      read_expert_groups(reading, {"noaux_tc", 8, 4});
    });
constinit const HfFamily kGlm4MoeLiteFolder =
    deepseek_folder({"Glm4MoeLiteForCausalLM"}, kGlmLiteKeys, [](const HfReading& reading) {
      read_expert_groups(reading, {"noaux_tc", 1, 1});
    });

}  // namespace hearth
