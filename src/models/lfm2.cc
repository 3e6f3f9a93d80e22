// LFM2 and LFM2.5 (Liquid AI 2025, arXiv 2511.23404). Most layers have short convolutions with
// gates; the others attend to all positions, with norms of query and key heads. The larger models
// have experts after some dense layers, chosen by sigmoid with a bias.
#include <algorithm>

#include "base/round_up.h"
#include "formats/hf_windows.h"
#include "models/architectures.h"
#include "models/hybrid_rows.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

SpecBuilder::Body make_mixer(SpecBuilder& m, uint32_t layer) {
  if (has_short_conv(m, layer)) return make_short_conv(m, layer);
  return make_attention(m, layer, {.rope = RopeLayout::kHalf, .norms = QkNorms::kHeads});
}

}  // namespace

void describe_lfm2(SpecBuilder& m) {
  make_decoder(
      m,
      [&](uint32_t layer) {
        m.layer({make_mixer(m, layer), make_feed_forward(m, layer, Gated::kYes, Activation::kSilu),
                 kNormBefore});
      },
      "token_embd_norm");
}

void describe_lfm2moe(SpecBuilder& m) {
  make_decoder(
      m,
      [&](uint32_t layer) {
        m.layer({make_mixer(m, layer),
                 make_swiglu_or_experts(m, layer, {.gating = Gating::kSigmoid, .norm_topk = true}),
                 kNormBefore});
      },
      "token_embd_norm");
}

// The folders of these architectures. Keys that config.json lacks have the defaults of
// transformers' Lfm2Config and Lfm2MoeConfig.

namespace {

constexpr HfKey kLfmKeys[] = {
    hf::must_be("conv_bias", false),
    hf::need("num_hidden_layers", "block_count", hf::kLayers, ModelMost::kLayers),
    hf::count_or("max_position_embeddings", "context_length", hf::kContext, ModelMost::kContext,
                 128000u),
    hf::need("hidden_size", "embedding_length", hf::kWidth, ModelMost::kWidth),
    hf::also_named("block_ff_dim",
                   hf::need("intermediate_size", nullptr, hf::kFfn, ModelMost::kFfn)),
    hf::need("vocab_size", "vocab_size", hf::kVocabulary, ModelMost::kVocabulary),
    hf::also_named("block_norm_eps",
                   hf::real("norm_eps", "attention.layer_norm_rms_epsilon", 1e-5)),
    hf::also_named("tie_embedding", hf::flag("tie_word_embeddings", nullptr, hf::kTied, true)),
    hf::need("num_attention_heads", "attention.head_count", hf::kHeads, ModelMost::kHeads),
    hf::count_or("num_key_value_heads", nullptr, hf::kKvHeads, ModelMost::kHeads, 8u),
    hf::say("attention.key_length", hf::kEvenHead, hf::kHeadLength),
    hf::say("attention.value_length", hf::kHeadLength),
    hf::count_or("conv_L_cache", "shortconv.l_cache", hf::kTaps, kMaxConvTaps, 3u)};

constexpr HfKey kLfmMoeKeys[] = {
    hf::need("num_experts", "expert_count", hf::kExperts, ModelMost::kExperts),
    hf::need_up_to("num_experts_per_tok", "expert_used_count", hf::kExperts),
    hf::need("moe_intermediate_size", "expert_feed_forward_length", hf::kExpertFfn,
             ModelMost::kFfn),
    hf::count_or("num_dense_layers", "leading_dense_block_count", hf::kDenseLayers,
                 ModelMost::kLayers, 2u),
    hf::must_be("use_expert_bias", true),
    hf::say("expert_gating_func", GgufGating::kSigmoid, hf::kGating),
    hf::real("routed_scaling_factor", "expert_weights_scale", 1),
    hf::flag("norm_topk_prob", "expert_weights_norm", hf::kNone, true)};

constexpr HfTensor kLfmTensors[] = {
    hf::of_model("embed_tokens", "token_embd", hf::kVocabulary, hf::kWidth),
    hf::where(hf::kHead, hf::at_top("lm_head", "output", hf::kVocabulary, hf::kWidth)),
    hf::of_model("embedding_norm", "token_embd_norm", hf::kWidth),
    hf::of_model("pos_emb.inv_freq", "", hf::kNone, hf::kNone, HfKind::kIgnored),
    hf::vector("operator_norm", "attn_norm", hf::kWidth),
    hf::vector("ffn_norm", "ffn_norm", hf::kWidth),
    hf::attending(hf::matrix("self_attn.q_proj", "attn_q", hf::kQueryRows, hf::kWidth)),
    hf::attending(hf::matrix("self_attn.k_proj", "attn_k", hf::kKeyRows, hf::kWidth)),
    hf::attending(hf::matrix("self_attn.v_proj", "attn_v", hf::kKeyRows, hf::kWidth)),
    hf::attending(hf::matrix("self_attn.out_proj", "attn_output", hf::kWidth, hf::kQueryRows)),
    hf::attending(hf::vector("self_attn.q_layernorm", "attn_q_norm", hf::kHeadLength)),
    hf::attending(hf::vector("self_attn.k_layernorm", "attn_k_norm", hf::kHeadLength)),
    hf::recurrent(hf::matrix("conv.in_proj", "shortconv.in_proj", hf::kThreeWidths, hf::kWidth)),
    hf::recurrent(hf::matrix("conv.out_proj", "shortconv.out_proj", hf::kWidth, hf::kWidth)),
    hf::recurrent({HfScope::kLayer, HfKind::kConvolution, "conv.conv", "shortconv.conv", hf::kWidth,
                   hf::kTaps}),
    hf::in_layers(HfLayers::kDense,
                  hf::matrix("feed_forward.w1", "ffn_gate", hf::kFfn, hf::kWidth)),
    hf::in_layers(HfLayers::kDense, hf::matrix("feed_forward.w3", "ffn_up", hf::kFfn, hf::kWidth)),
    hf::in_layers(HfLayers::kDense,
                  hf::matrix("feed_forward.w2", "ffn_down", hf::kWidth, hf::kFfn))};

constexpr HfTensor kLfmExperts[] = {
    hf::router("feed_forward.gate"), hf::routing_bias("feed_forward.expert_bias"),
    hf::expert("feed_forward.experts.{}.w1", "ffn_gate_exps", hf::kExpertFfn, hf::kWidth),
    hf::expert("feed_forward.experts.{}.w3", "ffn_up_exps", hf::kExpertFfn, hf::kWidth),
    hf::expert("feed_forward.experts.{}.w2", "ffn_down_exps", hf::kWidth, hf::kExpertFfn)};

// Reads which layers are convolutions, by layer_types or full_attn_idxs.
void read_lfm_layers(const HfReading& reading) {
  constexpr const char* kFull = "full_attn_idxs";
  const ConfigReader& config = reading.config;
  HfConfig& model = reading.model;
  const uint64_t layers = model[HfValue::kLayers];
  if (auto named = layers_of_kind(reading, "conv", "full_attention",
                                  "it supports conv and full_attention")) {
    model.recurrent = *std::move(named);
  } else {
    const boost::json::value* full = config.find(kFull);
    if (full != nullptr && !full->is_array()) config.refuse(kFull, "an array of layers");
    for (uint64_t i = 0; i < layers; ++i) {
      model.recurrent.push_back(
          full != nullptr && std::ranges::none_of(full->get_array(), [i](const auto& number) {
            return number.is_number() &&
                   number.template to_number<double>() == static_cast<double>(i);
          }));
    }
  }
  std::vector<uint32_t> heads;
  for (bool conv : model.recurrent) {
    heads.push_back(conv ? 0 : static_cast<uint32_t>(model[HfValue::kKvHeads]));
  }
  reading.set("attention.head_count_kv", heads);
}

// Sets the width of the FFN. config.json gives the width of an FFN without a gate. Unless
// block_auto_adjust_ff_dim is false, the FFN's width is two thirds of that, times a multiplier,
// rounded up.
void read_lfm2(const HfReading& reading) {
  const ConfigReader& config = reading.config;
  uint64_t ffn = reading.model[HfValue::kFfn];
  if (config.flag_or("block_auto_adjust_ff_dim", true)) {
    const double wide =
        config.real_or("block_ffn_dim_multiplier", 1) * static_cast<double>(2 * ffn / 3);
    if (!(wide > 0 && wide <= ModelMost::kFfn)) {
      config.refuse("block_ffn_dim_multiplier", "a multiplier that gives a valid FFN width");
    }
    ffn = static_cast<uint64_t>(wide);
    const uint32_t multiple = config.count_or("block_multiple_of", 256, ModelMost::kFfn);
    ffn = round_up(ffn, multiple);
  }
  if (ffn == 0 || ffn > ModelMost::kFfn) config.refuse("intermediate_size", "a valid FFN width");
  reading.model.keep(HfValue::kFfn, static_cast<uint32_t>(ffn));
  reading.set("feed_forward_length", static_cast<uint32_t>(ffn));
  read_lfm_layers(reading);
}

void read_lfm2moe(const HfReading& reading) {
  reading.set("feed_forward_length", static_cast<uint32_t>(reading.model[HfValue::kFfn]));
  read_lfm_layers(reading);
}

constexpr HfRope kLfmRope = {.base = 1e6};
constexpr HfWindows kLfmWindows = {.kind = HfWindows::Kind::kOwn};

}  // namespace

constinit const HfFamily kLfm2Folder = {
    .names = {"Lfm2ForCausalLM"},
    .gguf = "lfm2",
    .keys = {kLfmKeys},
    .rope = kLfmRope,
    .windows = kLfmWindows,
    .read = read_lfm2,
    .tensors = {kLfmTensors},
};
constinit const HfFamily kLfm2MoeFolder = {
    .names = {"Lfm2MoeForCausalLM"},
    .gguf = "lfm2moe",
    .keys = {kLfmKeys},
    .rope = kLfmRope,
    .windows = kLfmWindows,
    .more_keys = {kLfmMoeKeys},
    .read = read_lfm2moe,
    .tensors = {kLfmTensors, kLfmExperts},
};

}  // namespace hearth
