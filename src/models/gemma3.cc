// The text part of Gemma 3 (Gemma Team 2025, arXiv 2503.19786): scaled embeddings, RMS norms before
// and after every block and of query and key heads, GEGLU by tanh. The last of every six layers
// sees all positions before its own and turns by the file's RoPE. The others see a window, and turn
// by another base.
#include <cmath>

#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

constexpr uint32_t kPeriod = 6, kLargestLayers = 62;
constexpr Residual kNormBothSides{NormKind::kRms,
                                  {.before = "attn_norm", .behind = "post_attention_norm"},
                                  {.before = "ffn_norm", .behind = "post_ffw_norm"}};

// Returns n of the factor 1 / sqrt(n) on scores: a head's length or, in the largest model, width /
// heads, which is less. GGUF has no key for it.
double score_length(const SpecBuilder& m) {
  if (m.hyper().layers != kLargestLayers) return 0;
  return static_cast<double>(m.hyper().width) /
         m.keys().count("attention.head_count", ModelMost::kHeads);
}

}  // namespace

void describe_gemma3(SpecBuilder& m) {
  m.embedding().scale = std::sqrt(static_cast<float>(m.hyper().width));
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer,
                            {.rope = RopeLayout::kHalf,
                             .norms = QkNorms::kHeads,
                             .window = window_of(m, layer, kPeriod),
                             .score_length = score_length(m)}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kGeluTanh), kNormBothSides});
  });
}

// The folders of this architecture. Keys that config.json lacks, as in released models, have the
// defaults of transformers' Gemma3TextConfig.

namespace {

constexpr HfKey kGemmaKeys[] = {
    hf::must_be("hidden_activation", "gelu_pytorch_tanh"),
    hf::need("num_hidden_layers", "block_count", hf::kLayers, ModelMost::kLayers),
    hf::count_or("max_position_embeddings", "context_length", hf::kContext, ModelMost::kContext,
                 131072u),
    hf::need("hidden_size", "embedding_length", hf::kWidth, ModelMost::kWidth),
    hf::need("intermediate_size", "feed_forward_length", hf::kFfn, ModelMost::kFfn),
    hf::count_or("vocab_size", "vocab_size", hf::kVocabulary, ModelMost::kVocabulary, 262208u),
    hf::real("rms_norm_eps", "attention.layer_norm_rms_epsilon", 1e-6),
    hf::flag("tie_word_embeddings", nullptr, hf::kTied, true),
    hf::count_or("num_attention_heads", "attention.head_count", hf::kHeads, ModelMost::kHeads, 8u),
    hf::count_or("num_key_value_heads", "attention.head_count_kv", hf::kKvHeads, ModelMost::kHeads,
                 4u),
    hf::count_or("head_dim", "attention.key_length", hf::kHeadLength, ModelMost::kLength, 256u),
    hf::say("attention.value_length", hf::kHeadLength),
    hf::flag("attention_bias", nullptr, hf::kBias, false),
    hf::say(nullptr, 1, hf::kHeadNorms)};

constexpr HfTensor kGemmaNorms[] = {
    hf::vector("input_layernorm", "attn_norm", hf::kWidth),
    hf::vector("post_attention_layernorm", "post_attention_norm", hf::kWidth),
    hf::vector("pre_feedforward_layernorm", "ffn_norm", hf::kWidth),
    hf::vector("post_feedforward_layernorm", "post_ffw_norm", hf::kWidth)};

// Reads query_pre_attn_scalar: scores are divided by its square root.
void read_score_length(const HfReading& reading) {
  const double length = reading.config.real_or("query_pre_attn_scalar", 256);
  reading.set("attention.scale", static_cast<float>(1 / std::sqrt(length)));
}

}  // namespace

constinit const HfFamily kGemma3Folder = {
    .names = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
    .gguf = "gemma3",
    .keys = {kGemmaKeys, hf::kOutputBiasKeys},
    .rope = {.base = 1e6, .windowed_key = "rope_local_base_freq", .windowed_base = 1e4},
    .windows = {.kind = HfWindows::Kind::kSome,
                .length = 4096,
                .period_key = "sliding_window_pattern",
                .period = kPeriod},
    .read = read_score_length,
    .reads = {"query_pre_attn_scalar"},
    .prefixes = {"model.language_model.", "language_model.model.", "model."},
    .tensors = {hf::kModelTensors, kGemmaNorms, hf::kGroupedTensors, hf::kDenseTensors},
    .left_out = {{{"vision_tower.", "multi_modal_projector."},
                  "of images are ignored: only text is supported"}},
    .norms_plus_one = true,
    .text_config = true,
};

}  // namespace hearth
