// The text part of Gemma 4. It shares with Gemma 3 scaled embeddings, RMS norms before and after
// every block and of query and key heads, and GEGLU by tanh. It adds a norm of values without a
// weight, scores without a scale, a factor of each layer's result, and logits with a soft cap. The
// file says which layers see a window; these have head lengths and a RoPE of their own. Layers
// without attn_v use keys before their norm as values. The last few layers may lack keys and
// values, and read those of the last layer of their kind before them. Experts stand beside a dense
// layer that reads the same stream; both results are normed, added, and normed again. In E2B and
// E4B every token has an embedding for each layer, which joins the stream after the other blocks.
#include <fmt/format.h>

#include <cmath>

#include "formats/hf_config.h"
#include "formats/hf_windows.h"
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

// Every sixth layer has no window, unless the file says which layers have one.
constexpr uint32_t kWindowedLayers = 6;

// The default soft cap of logits. llama.cpp has the same default, and all released models have this
// cap.
constexpr double kLogitCap = 30;
// The bounds of a soft cap: beyond them its arithmetic leaves the range of float.
constexpr double kMinCap = 1e-3, kMaxCap = 1e6;

bool is_windowed(SpecBuilder& m, uint32_t layer) {
  return window_of(m, layer, kWindowedLayers) == Window::kLocal;
}

// Returns the layer whose keys and values this layer reads, if it has none of its own.
std::optional<uint32_t> layer_of_keys(SpecBuilder& m, uint32_t layer) {
  constexpr const char* kKey = "attention.shared_kv_layers";
  const uint32_t layers = m.hyper().layers, shared = m.keys().number_or(kKey, 0);
  if (shared >= layers) {
    m.keys().refuse(kKey, shared, fmt::format("less than the {} layers", layers));
  }
  const uint32_t first = layers - shared;
  if (layer < first) return {};
  for (uint32_t other = first; other > 0; --other) {
    if (is_windowed(m, other - 1) == is_windowed(m, layer)) return other - 1;
  }
  fail(ErrorCode::kFile,
       "'{}' has {}{} = {}, but layer {} has {} sliding window, and before the last {} layers "
       "there is none like it to share keys and values with: the file is damaged or made for "
       "another program",
       m.source().name(), m.keys().prefix(), kKey, shared, layer,
       is_windowed(m, layer) ? "a" : "no", shared);
}

AttentionBlock make_gemma_attention(SpecBuilder& m, uint32_t layer) {
  m.keys(layer).count("attention.sliding_window", ModelMost::kContext);
  return make_attention(m, layer,
                        {.rope = RopeLayout::kHalf,
                         .norms = QkNorms::kHeads,
                         .window = window_of(m, layer, kWindowedLayers),
                         .score_length = 1,
                         .value_norms = true,
                         .values_may_be_keys = true,
                         .keys_of = layer_of_keys(m, layer)});
}

// Makes experts whose router reads a norm of the stream, divided by the root of the width.
ExpertsBlock make_gemma_experts(SpecBuilder& m, uint32_t layer) {
  ExpertsBlock experts =
      make_experts(m, layer, {.gating = Gating::kSoftmax, .norm_topk = true},
                   {.activation = Activation::kGeluTanh, .router_norm = true, .scales = true});
  experts.rule.logit_scale = 1 / std::sqrt(static_cast<float>(m.hyper().width));
  return experts;
}

Layer make_gemma_layer(SpecBuilder& m, uint32_t layer) {
  constexpr NormKind kRms = NormKind::kRms;
  Layer made;
  made.blocks.push_back(m.joined(make_gemma_attention(m, layer), kRms,
                                 {.before = "attn_norm", .behind = "post_attention_norm"}));
  const bool beside = m.keys().number_or("expert_count", 0) > 0 &&
                      m.has(layer_tensor(layer, "ffn_gate_inp.weight"));
  made.blocks.push_back(
      m.joined(make_feed_forward(m, layer, Gated::kYes, Activation::kGeluTanh), kRms,
               {.before = "ffn_norm", .behind = beside ? "post_ffw_norm_1" : "post_ffw_norm"}));
  if (beside) {
    made.blocks.back().held = true;
    made.blocks.push_back(m.joined(
        make_gemma_experts(m, layer), kRms,
        {.before = "pre_ffw_norm_2", .behind = "post_ffw_norm_2", .outer = "post_ffw_norm"}));
  }
  if (m.embedding().per_layer) {
    made.blocks.push_back(
        m.joined(make_per_layer(m, layer), kRms, {.before = nullptr, .behind = "post_norm"}));
  }
  made.blocks.back().norms.scale = m.vector_where_there(
      static_cast<int>(layer), "scale", layer_tensor(layer, "layer_output_scale.weight"), 1);
  return made;
}

}  // namespace

void describe_gemma4(SpecBuilder& m) {
  m.embedding().scale = std::sqrt(static_cast<float>(m.hyper().width));
  const double cap = m.keys().non_negative_or("final_logit_softcapping", kLogitCap);
  if (cap != 0 && (cap < kMinCap || cap > kMaxCap)) {
    m.keys().refuse("final_logit_softcapping", cap, fmt::format("0 or {} to {}", kMinCap, kMaxCap));
  }
  m.set_logit_cap(static_cast<float>(cap));
  make_per_layer_inputs(m);
  make_decoder(m, [&](uint32_t layer) { m.append(make_gemma_layer(m, layer)); });
}

// The folders of this architecture: of the text part of models with vision and audio, or of models
// that have only text. Keys that config.json lacks have the defaults of transformers'
// Gemma4TextConfig.

namespace {

constexpr HfKey per_layer_key(HfKey key, uint32_t otherwise) {
  key.least = 0;
  key.otherwise = otherwise;
  return key;
}

constexpr HfKey kGemma4Keys[] = {
    hf::must_be("hidden_activation", "gelu_pytorch_tanh"),
    hf::must_be("attention_bias", false),
    hf::with_known("it supports vision, where text is read in one direction",
                   hf::must_be("use_bidirectional_attention", "vision")),
    hf::count_or("num_hidden_layers", "block_count", hf::kLayers, ModelMost::kLayers, 30u),
    hf::count_or("hidden_size", "embedding_length", hf::kWidth, ModelMost::kWidth, 2304u),
    hf::count_or("intermediate_size", nullptr, hf::kFfn, ModelMost::kFfn, 9216u),
    hf::count_or("vocab_size", "vocab_size", hf::kVocabulary, ModelMost::kVocabulary, 262144u),
    hf::real("rms_norm_eps", "attention.layer_norm_rms_epsilon", 1e-6),
    hf::flag("tie_word_embeddings", nullptr, hf::kTied, true),
    hf::count_or("num_attention_heads", "attention.head_count", hf::kHeads, ModelMost::kHeads, 8u),
    hf::count_or("num_key_value_heads", nullptr, hf::kKvHeads, ModelMost::kHeads, 4u),
    hf::count_or("global_head_dim", "attention.key_length", hf::kHeadLength, ModelMost::kLength,
                 512u),
    hf::say("attention.value_length", hf::kHeadLength),
    hf::count("num_kv_shared_layers", "attention.shared_kv_layers", hf::kNone, ModelMost::kLayers,
              0)};
// Keys of models with separate vision and audio encoders, then of the unified model without them.
constexpr HfKey kApartKeys[] = {
    hf::count_or("max_position_embeddings", "context_length", hf::kContext, ModelMost::kContext,
                 131072u),
    per_layer_key(hf::count("hidden_size_per_layer_input", "embedding_length_per_layer_input",
                            hf::kPerLayer, ModelMost::kWidth),
                  256)};
constexpr HfKey kUnifiedKeys[] = {hf::count_or("max_position_embeddings", "context_length",
                                               hf::kContext, ModelMost::kContext, 262144u)};

// The shapes of tensors that differ from layer to layer are set by read_kinds().
constexpr HfTensor kGemma4Tensors[] = {
    hf::vector("input_layernorm", "attn_norm", hf::kWidth),
    hf::vector("post_attention_layernorm", "post_attention_norm", hf::kWidth),
    hf::vector("pre_feedforward_layernorm", "ffn_norm", hf::kWidth),
    hf::vector("post_feedforward_layernorm", "post_ffw_norm", hf::kWidth),
    hf::matrix("self_attn.q_proj", "attn_q", hf::kQueryRows, hf::kWidth),
    hf::where(hf::kOwnKeys, hf::matrix("self_attn.k_proj", "attn_k", hf::kKeyRows, hf::kWidth)),
    hf::where(hf::kOwnValues, hf::matrix("self_attn.v_proj", "attn_v", hf::kKeyRows, hf::kWidth)),
    hf::matrix("self_attn.o_proj", "attn_output", hf::kWidth, hf::kQueryRows),
    hf::vector("self_attn.q_norm", "attn_q_norm", hf::kHeadLength),
    hf::where(hf::kOwnKeys, hf::vector("self_attn.k_norm", "attn_k_norm", hf::kHeadLength)),
    hf::matrix("mlp.gate_proj", "ffn_gate", hf::kFfn, hf::kWidth),
    hf::matrix("mlp.up_proj", "ffn_up", hf::kFfn, hf::kWidth),
    hf::matrix("mlp.down_proj", "ffn_down", hf::kWidth, hf::kFfn),
    {HfScope::kLayer, HfKind::kWhole, "layer_scalar", "layer_output_scale.weight", hf::kOne}};

constexpr HfTensor kPerLayerTensors[] = {
    hf::where(hf::kPerLayer,
              hf::table("per_layer_input_gate", "inp_gate", hf::kPerLayer, hf::kWidth)),
    hf::where(hf::kPerLayer, hf::table("per_layer_projection", "proj", hf::kWidth, hf::kPerLayer)),
    hf::where(hf::kPerLayer, hf::vector("post_per_layer_input_norm", "post_norm", hf::kWidth)),
    hf::where(hf::kPerLayer, hf::of_model("embed_tokens_per_layer", "per_layer_token_embd",
                                          hf::kVocabulary, hf::kAllPerLayer)),
    hf::where(hf::kPerLayer, hf::of_model("per_layer_model_projection", "per_layer_model_proj",
                                          hf::kAllPerLayer, hf::kWidth)),
    hf::where(hf::kPerLayer,
              hf::of_model("per_layer_projection_norm", "per_layer_proj_norm", hf::kPerLayer))};

constexpr HfTensor beside(HfTensor row) { return hf::in_layers(HfLayers::kSparse, row); }
constexpr HfTensor kBesideTensors[] = {
    beside(hf::vector("post_feedforward_layernorm_1", "post_ffw_norm_1", hf::kWidth)),
    beside(hf::vector("pre_feedforward_layernorm_2", "pre_ffw_norm_2", hf::kWidth)),
    beside(hf::vector("post_feedforward_layernorm_2", "post_ffw_norm_2", hf::kWidth)),
    hf::router("router.proj"),
    beside({HfScope::kLayer, HfKind::kWhole, "router.scale", "ffn_gate_inp.scale", hf::kWidth}),
    beside({HfScope::kLayer, HfKind::kWhole, "router.per_expert_scale", "ffn_down_exps.scale",
            hf::kExperts}),
    hf::expert_matrices("experts.gate_up_proj", "ffn_gate_up_exps.weight", hf::kTwoExpertFfns,
                        hf::kWidth),
    hf::expert_matrices("experts.down_proj", "ffn_down_exps.weight", hf::kWidth, hf::kExpertFfn),
    // Quantisers store each expert as tensors of its own.
    hf::expert("experts.{}.gate_proj", "ffn_gate_exps", hf::kNone, hf::kNone),
    hf::expert("experts.{}.up_proj", "ffn_up_exps", hf::kNone, hf::kNone),
    hf::expert("experts.{}.down_proj", "ffn_down_exps", hf::kNone, hf::kNone)};

void read_beside(const HfReading& reading) {
  const ConfigReader& config = reading.config;
  if (!config.flag_or("enable_moe_block", false)) return;
  const uint32_t experts = config.need_count("num_experts", ModelMost::kExperts);
  const uint32_t ffn = config.need_count("moe_intermediate_size", ModelMost::kFfn);
  reading.model.keep(HfValue::kExperts, experts);
  reading.model.keep(HfValue::kExpertFfn, ffn);
  reading.set("expert_count", experts);
  reading.set("expert_used_count", config.need_count("top_k_experts", experts));
  reading.set("expert_feed_forward_length", ffn);
}

// Sets each layer's head lengths, KV heads and FFN rows. They depend on the layer's kind (with a
// window or without) and on whether it has keys of its own.
void read_kinds(const HfReading& reading) {
  const ConfigReader& config = reading.config;
  HfConfig& model = reading.model;
  const auto kv_heads = static_cast<uint32_t>(model[HfValue::kKvHeads]);
  const auto ffn = static_cast<uint32_t>(model[HfValue::kFfn]);
  const auto length = static_cast<uint32_t>(model[HfValue::kHeadLength]);
  const uint32_t head = config.count_or("head_dim", 256, ModelMost::kLength);
  for (const char* key :
       {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"}) {
    reading.set(key, head);
  }
  const bool keys_as_values = config.flag_or("attention_k_eq_v", false);
  uint32_t global = kv_heads;
  if (keys_as_values) {
    global = config.count_or("num_global_key_value_heads", kv_heads, ModelMost::kHeads);
  }
  const std::vector<bool> windowed = sliding_layers(reading);
  const size_t shared = config.count("num_kv_shared_layers", ModelMost::kLayers, 0).value_or(0);
  const bool wide = config.flag_or("use_double_wide_mlp", false);
  std::vector<uint32_t> heads, rows, lengths, keys, values;
  for (size_t i = 0; i < windowed.size(); ++i) {
    const bool reads_others = i + shared >= windowed.size();
    heads.push_back(windowed[i] ? kv_heads : global);
    lengths.push_back(windowed[i] ? head : length);
    rows.push_back(wide && reads_others ? 2 * ffn : ffn);
    keys.push_back(reads_others ? 0 : 1);
    values.push_back(reads_others || (keys_as_values && !windowed[i]) ? 0 : 1);
  }
  reading.set("attention.head_count_kv", heads);
  reading.set("feed_forward_length", rows);
  model.by_layer = {{HfValue::kKvHeads, heads},
                    {HfValue::kHeadLength, lengths},
                    {HfValue::kFfn, rows},
                    {HfValue::kOwnKeys, keys},
                    {HfValue::kOwnValues, values}};
  constexpr const char* kCap = "final_logit_softcapping";
  const boost::json::value* cap = config.find(kCap);
  const bool none = cap == nullptr || (cap->is_number() && cap->to_number<double>() == 0);
  reading.set(kCap, none ? 0.0f : static_cast<float>(config.real_or(kCap, 0)));
  read_beside(reading);
}

constexpr HfFamily gemma4_folder(HfTexts names, std::span<const HfKey> keys, uint32_t window) {
  return {
      .names = names,
      .gguf = "gemma4",
      .keys = {kGemma4Keys, keys},
      .rope = {.base = 1e6,
               .proportional = 0.25,
               .windowed_key = "rope_local_base_freq",
               .windowed_base = 1e4},
      .windows = {.kind = HfWindows::Kind::kSome,
                  .length = window,
                  .period = kWindowedLayers,
                  .last_full = true},
      .read = read_kinds,
      .reads = {"final_logit_softcapping"},
      .prefixes = {"model.language_model.", "language_model.model.", "model."},
      .tensors = {hf::kModelTensors, kGemma4Tensors, kPerLayerTensors, kBesideTensors},
      .left_out = {{{"vision_tower.", "audio_tower.", "vision_embedder.", "embed_vision.",
                     "embed_audio.", "multi_modal_projector."},
                    "of images and audio are ignored: only text is supported"}},
      .text_config = true,
  };
}

}  // namespace

constinit const HfFamily kGemma4Folder =
    gemma4_folder({"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"}, kApartKeys, 512);
constinit const HfFamily kGemma4UnifiedFolder =
    gemma4_folder({"Gemma4UnifiedForConditionalGeneration"}, kUnifiedKeys, 1024);

}  // namespace hearth
