// jina-embeddings-v2 (Guenther et al. 2023): BERT with ALiBi in place of a table of positions, and
// GEGLU. Gate and up are two tensors, or stand above each other in ffn_up; the Chinese model has
// BERT's plain GELU instead. The model for code norms all query heads of a row together, and all
// key heads, and has a second norm after attention's.
#include "models/architectures.h"
#include "models/encoder.h"
#include "models/encoder_rows.h"

namespace hearth {

void describe_jina_bert_v2(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kNone);
  Residual twice = kNormAfter;
  twice.attention = {.inner = "attn_output_norm", .after = "attn_norm_2"};
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    const bool second = m.has(layer_tensor(layer, "attn_norm_2.weight"));
    m.layer({make_attention(m, layer,
                            {.positions = Positions::kAlibi,
                             .norms = QkNorms::kLayerRowsWhereThere,
                             .encoder = true}),
             make_feed_forward(m, layer, Gated::kWhereThere, Activation::kGelu),
             second ? twice : kNormAfter});
  }
}

// The Hugging Face folders of this architecture.

namespace {

// Values of feed_forward_type; `original` is BERT's FFN, with BERT's tensor names.
constexpr HfChoice kJinaFfns[] = {{"original", 0}, {"geglu", 1}};
constexpr HfKey kJinaKeys[] = {
    hf::must_be("position_embedding_type", "alibi"),
    hf::choice("feed_forward_type", nullptr, hf::kNone, kJinaFfns, "original")};

// The FFN's tensor holds up before gate in the model for code (up_gated_layer).
constexpr HfTensor kJinaTensors[] = {
    hf::in_layer("attention.self.layer_norm_q", "attn_q_norm"),
    hf::in_layer("attention.self.layer_norm_k", "attn_k_norm"),
    hf::in_layer("layer_norm_1", "attn_norm_2"),
    hf::in_layer("layer_norm_2", "layer_output_norm"),
    hf::in_layer("mlp.gated_layers", "ffn_up", HfKind::kGateAndUp),
    hf::in_layer("mlp.up_gated_layer", "ffn_up", HfKind::kUpAndGate),
    hf::in_layer("mlp.wo", "ffn_down"),
    hf::in_layer("mlp.down_layer", "ffn_down"),
    hf::in_layer("mlp.layernorm", "layer_output_norm")};

void read_jina(const HfReading& reading) {
  if (reading.config.text_or("emb_pooler", "") == "mean") {
    reading.model.keep(HfValue::kPooling, gguf_number(PoolingType::kMean));
  }
}

}  // namespace

constinit const HfFamily kJinaBertV2Folder = {
    .names = {"JinaBertModel", "JinaBertForMaskedLM"},
    .gguf = "jina-bert-v2",
    .encoder = true,
    .keys = {hf::kBertKeys, kJinaKeys, hf::kEncoderKeys},
    .read = read_jina,
    .prefixes = hf::kEncoderPrefixes,
    .layer_prefixes = hf::kEncoderLayers,
    .tensors = {hf::kEmbeddingTensors, hf::kBertTensors, kJinaTensors},
    .left_out = {hf::kHeadsLeftOut},
};

}  // namespace hearth
