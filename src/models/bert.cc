// BERT and models of its shape (bge, MiniLM, e5, arctic; XLM-R, as bge-m3): a learned row for every
// position, GELU, biases everywhere.
#include "models/architectures.h"
#include "models/encoder.h"
#include "models/encoder_rows.h"

namespace hearth {

void describe_bert(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kLearned);
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    m.layer({make_attention(m, layer, {.positions = Positions::kNone, .encoder = true}),
             make_feed_forward(m, layer, Gated::kNo, Activation::kGelu), kNormAfter});
  }
}

// The Hugging Face folders of this architecture.

namespace {

// RoBERTa numbers positions from pad_token_id + 1 on. The rows of its table before that are left
// out, and subtracted from the context, like in llama.cpp's converter.
void read_roberta(const HfReading& reading) {
  const uint32_t first = reading.config.count_or("pad_token_id", 1, ModelMost::kVocabulary, 0) + 1;
  const auto rows = static_cast<uint32_t>(reading.model[HfValue::kContext]);
  if (first >= rows) {
    reading.config.refuse("max_position_embeddings", "more than pad_token_id + 1");
  }
  reading.model.keep(HfValue::kFirstPosition, first);
  reading.model.keep(HfValue::kContext, rows - first);
}

constexpr HfFamily bert_folder(HfTexts names, void (*read)(const HfReading& reading)) {
  return {
      .names = names,
      .gguf = "bert",
      .encoder = true,
      .keys = {hf::kBertKeys, hf::kAbsoluteKeys, hf::kEncoderKeys},
      .read = read,
      .prefixes = hf::kEncoderPrefixes,
      .layer_prefixes = hf::kEncoderLayers,
      .tensors = {hf::kEmbeddingTensors, hf::kBertTensors},
      .left_out = {hf::kHeadsLeftOut},
  };
}

// Returns the folder family of cross-encoders, which score pairs of texts.
constexpr HfFamily rank_folder(HfTexts names, void (*read)(const HfReading& reading),
                               std::span<const HfTensor> head) {
  HfFamily family = bert_folder(names, read);
  family.keys = {hf::kBertKeys, hf::kAbsoluteKeys, hf::kEncoderKeys, hf::kRankKeys};
  family.tensors = {hf::kEmbeddingTensors, hf::kBertTensors, head};
  family.left_out = {hf::kNumbersLeftOut};
  return family;
}

}  // namespace

constinit const HfFamily kBertFolder = bert_folder({"BertModel", "BertForMaskedLM"}, nullptr);
constinit const HfFamily kRobertaFolder =
    bert_folder({"RobertaModel", "XLMRobertaModel", "XLMRobertaForMaskedLM"}, read_roberta);
constinit const HfFamily kBertRankFolder =
    rank_folder({"BertForSequenceClassification"}, nullptr, hf::kBertScoreTensors);
constinit const HfFamily kRobertaRankFolder =
    rank_folder({"RobertaForSequenceClassification", "XLMRobertaForSequenceClassification"},
                read_roberta, hf::kRobertaScoreTensors);

}  // namespace hearth
