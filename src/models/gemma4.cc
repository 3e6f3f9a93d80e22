// Gemma 4, its text: as Gemma 3 scaled embeddings, RMS norms on both sides of every block and of
// query and key heads, GEGLU by tanh; and beside that values with a norm that has no weight, scores
// without a scale, a number that each layer's result is multiplied by, and logits with a soft cap.
// The file says which layers see a window; these have lengths of heads and a RoPE of their own.
// Layers without attn_v take keys before their norm for values. The last few may have no keys and
// values, and read those of the last layer of their kind before them. Experts stand beside a dense
// layer that reads the same stream; what both give is normed apart, added, and normed again. E2B
// and E4B have something of every token for each layer, which joins the stream behind the others.
#include <fmt/format.h>

#include <cmath>

#include "formats/hf_config.h"
#include "formats/hf_windows.h"
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

// Of six layers the last has no window, where the file does not say which have one.
constexpr uint32_t kWindowedLayers = 6;

// Where the file says nothing, as llama.cpp has it and all released models say.
constexpr double kLogitCap = 30;
// Beyond these the cap's own arithmetic leaves float.
constexpr double kLeastCap = 1e-3, kMostCap = 1e6;

bool is_windowed(SpecBuilder& m, uint32_t layer) {
  return window_of(m, layer, kWindowedLayers) == Window::kLocal;
}

// The layer whose keys and values this one reads, if it has none.
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
       "'{}' says {}{} = {}, but layer {} has {} window, and no layer before these {} is so: the "
       "file is damaged or made for another program",
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

// Whose router reads the norm of the stream, divided by the root of the width.
ExpertsBlock make_gemma_experts(SpecBuilder& m, uint32_t layer) {
  ExpertsBlock experts =
      make_experts(m, layer, {.gating = Gating::kSoftmax, .normalised = true},
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
  if (cap != 0 && (cap < kLeastCap || cap > kMostCap)) {
    m.keys().refuse("final_logit_softcapping", cap,
                    fmt::format("0 or {} to {}", kLeastCap, kMostCap));
  }
  m.set_logit_cap(static_cast<float>(cap));
  make_per_layer_inputs(m);
  make_decoder(m, [&](uint32_t layer) { m.append(make_gemma_layer(m, layer)); });
}

// Folders of this architecture, without experts. What layers differ in is read by read_kinds().

namespace {

constexpr HfKey kGemma4Keys[] = {
    hf::must_be("hidden_activation", "gelu_pytorch_tanh"),
    hf::must_be("attention_bias", false),
    hf::must_be("enable_moe_block", false),
    hf::need("num_hidden_layers", "block_count", hf::kLayers, ModelMost::kLayers),
    hf::count_or("max_position_embeddings", "context_length", hf::kContext, ModelMost::kContext,
                 131072u),
    hf::need("hidden_size", "embedding_length", hf::kWidth, ModelMost::kWidth),
    hf::need("intermediate_size", nullptr, hf::kFfn, ModelMost::kFfn),
    hf::need("vocab_size", "vocab_size", hf::kVocabulary, ModelMost::kVocabulary),
    hf::real("rms_norm_eps", "attention.layer_norm_rms_epsilon", 1e-6),
    hf::flag("tie_word_embeddings", nullptr, hf::kTied, true),
    hf::need("num_attention_heads", "attention.head_count", hf::kHeads, ModelMost::kHeads),
    hf::need("num_key_value_heads", nullptr, hf::kKvHeads, ModelMost::kHeads),
    hf::count_or("global_head_dim", "attention.key_length", hf::kHeadLength, ModelMost::kLength,
                 512u),
    hf::say("attention.value_length", hf::kHeadLength),
    hf::count("num_kv_shared_layers", "attention.shared_kv_layers", hf::kNone, ModelMost::kLayers,
              0),
    hf::count("hidden_size_per_layer_input", "embedding_length_per_layer_input", hf::kNone,
              ModelMost::kWidth, 0)};

// Shapes differ from layer to layer, so config.json alone does not tell them.
constexpr HfTensor kGemma4Tensors[] = {
    hf::in_layer("input_layernorm", "attn_norm"),
    hf::in_layer("post_attention_layernorm", "post_attention_norm"),
    hf::in_layer("pre_feedforward_layernorm", "ffn_norm"),
    hf::in_layer("post_feedforward_layernorm", "post_ffw_norm"),
    hf::in_layer("self_attn.q_proj", "attn_q"),
    hf::in_layer("self_attn.k_proj", "attn_k"),
    hf::in_layer("self_attn.v_proj", "attn_v"),
    hf::in_layer("self_attn.o_proj", "attn_output"),
    hf::in_layer("self_attn.q_norm", "attn_q_norm"),
    hf::in_layer("self_attn.k_norm", "attn_k_norm"),
    hf::in_layer("mlp.gate_proj", "ffn_gate"),
    hf::in_layer("mlp.up_proj", "ffn_up"),
    hf::in_layer("mlp.down_proj", "ffn_down"),
    hf::in_layer("layer_scalar", "layer_output_scale.weight", HfKind::kWhole),
    hf::in_layer("per_layer_input_gate", "inp_gate"),
    hf::in_layer("per_layer_projection", "proj"),
    hf::in_layer("post_per_layer_input_norm", "post_norm"),
    hf::of_model("embed_tokens_per_layer", "per_layer_token_embd"),
    hf::of_model("per_layer_model_projection", "per_layer_model_proj"),
    hf::of_model("per_layer_projection_norm", "per_layer_proj_norm")};

// Lengths of heads, KV heads and FFN rows of each layer, by its kind and by whether it has keys.
void read_kinds(const HfReading& reading) {
  const ConfigReader& config = reading.config;
  const auto kv_heads = static_cast<uint32_t>(reading.model[HfValue::kKvHeads]);
  const auto ffn = static_cast<uint32_t>(reading.model[HfValue::kFfn]);
  const uint32_t head = config.count_or("head_dim", 256, ModelMost::kLength);
  for (const char* key :
       {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"}) {
    reading.set(key, head);
  }
  uint32_t global = kv_heads;
  if (config.flag_or("attention_k_eq_v", false)) {
    global = config.count_or("num_global_key_value_heads", kv_heads, ModelMost::kHeads);
  }
  const std::vector<bool> windowed = sliding_layers(reading);
  const size_t shared = config.count("num_kv_shared_layers", ModelMost::kLayers, 0).value_or(0);
  const bool wide = config.flag_or("use_double_wide_mlp", false);
  std::vector<uint32_t> heads, rows;
  for (size_t i = 0; i < windowed.size(); ++i) {
    heads.push_back(windowed[i] ? kv_heads : global);
    rows.push_back(wide && i + shared >= windowed.size() ? 2 * ffn : ffn);
  }
  reading.set("attention.head_count_kv", heads);
  reading.set("feed_forward_length", rows);
  reading.set("final_logit_softcapping",
              static_cast<float>(config.real("final_logit_softcapping").value_or(0)));
}

}  // namespace

constinit const HfFamily kGemma4Folder = {
    .names = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"},
    .gguf = "gemma4",
    .keys = {kGemma4Keys},
    .rope = {.base = 1e6, .windowed_key = "rope_local_base_freq", .windowed_base = 1e4},
    .windows = {.kind = HfWindows::Kind::kSome, .length = 512, .period = kWindowedLayers},
    .read = read_kinds,
    .reads = {"final_logit_softcapping"},
    .prefixes = {"model.language_model.", "language_model.model.", "model."},
    .tensors = {hf::kModelTensors, kGemma4Tensors},
    .left_out = {{{"vision_tower.", "audio_tower.", "embed_vision.", "embed_audio.",
                   "multi_modal_projector."},
                  "of pictures and sound are left out: this is text alone"}},
    .text_config = true,
};

}  // namespace hearth
