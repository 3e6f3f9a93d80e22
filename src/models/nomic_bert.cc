// nomic-embed-text v1 and v1.5 (Nussbaum et al. 2024): BERT with RoPE in place of a table of
// positions, SwiGLU, and biases only in norms.
#include <algorithm>

#include "models/architectures.h"
#include "models/encoder.h"
#include "models/encoder_rows.h"

namespace hearth {

void describe_nomic_bert(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kNone);
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf, .encoder = true}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormAfter});
  }
}

// The Hugging Face folders of this architecture.

namespace {

// Keys of config.json, with the names of GPT-2.
constexpr HfKey kNomicKeys[] = {
    hf::need("n_layer", "block_count", hf::kLayers, ModelMost::kLayers),
    hf::need("n_embd", "embedding_length", hf::kWidth, ModelMost::kWidth),
    hf::count_or("n_inner", "feed_forward_length", hf::kFfn, ModelMost::kFfn, hf::kFourWidths),
    hf::need("n_head", "attention.head_count", hf::kHeads, ModelMost::kHeads),
    hf::need("vocab_size", "vocab_size", hf::kVocabulary, ModelMost::kVocabulary),
    hf::real("layer_norm_epsilon", "attention.layer_norm_epsilon", 1e-12),
    hf::say("attention.causal", false),
    hf::need("n_positions", nullptr, hf::kContext, ModelMost::kContext),
    hf::must_be("activation_function", "swiglu"),
    hf::must_be("prenorm", false),
    hf::must_be("parallel_block", false),
    hf::must_be("use_rms_norm", false),
    hf::must_be("causal", false),
    hf::must_be("rotary_emb_interleaved", false),
    hf::must_be("rotary_emb_fraction", 1.0),
    hf::must_lack("rotary_emb_scale_base", "it supports models without it"),
    hf::must_count("moe_every_n_layers", 0, "it supports layers without experts"),
    hf::real("rotary_emb_base", "rope.freq_base", 10000)};

constexpr HfTensor kNomicTensors[] = {
    hf::of_model("emb_ln", "token_embd_norm"),    hf::in_layer("attn.Wqkv", "attn_qkv"),
    hf::in_layer("attn.out_proj", "attn_output"), hf::in_layer("norm1", "attn_output_norm"),
    hf::in_layer("norm2", "layer_output_norm"),   hf::in_layer("mlp.fc11", "ffn_up"),
    hf::in_layer("mlp.fc12", "ffn_gate"),         hf::in_layer("mlp.fc2", "ffn_down")};

// Cuts the context to the length that the model was trained with. Beyond it the model would turn
// positions by other frequencies.
void read_nomic(const HfReading& reading) {
  const auto context = static_cast<uint32_t>(reading.model[HfValue::kContext]);
  const uint32_t trained =
      reading.config.count_or("max_trained_positions", 2048, ModelMost::kContext);
  reading.model.keep(HfValue::kContext, std::min(context, trained));
}

}  // namespace

constinit const HfFamily kNomicBertFolder = {
    .names = {"NomicBertModel"},
    .gguf = "nomic-bert",
    .encoder = true,
    .keys = {kNomicKeys, hf::kEncoderKeys},
    .read = read_nomic,
    .prefixes = hf::kEncoderPrefixes,
    .layer_prefixes = hf::kEncoderLayers,
    .tensors = {hf::kEmbeddingTensors, kNomicTensors},
    .left_out = {hf::kHeadsLeftOut},
};

}  // namespace hearth
