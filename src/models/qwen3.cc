// Qwen3 (Yang et al. 2025): Qwen2 without biases, with an RMS norm of every query and key head
// before RoPE.
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen3(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf, .norms = QkNorms::kHeads}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormBefore});
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr HfKey kHeadlessKeys[] = {hf::say(nullptr, 1, HfValue::kTied)};
constexpr HfTensor kScoreTensors[] = {
    hf::at_top("score", "cls.output", HfValue::kOne, HfValue::kWidth)};

}  // namespace

constinit const HfFamily kQwen3Folder = {
    .names = {"Qwen3ForCausalLM"},
    .gguf = "qwen3",
    .keys = {hf::kDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, hf::kHeadNormKeys},
    .windows = hf::kQwenWindows,
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, hf::kDenseTensors},
};

// A reranker: a matrix of one row takes the place of the matrix for logits.
constinit const HfFamily kQwen3RankFolder = {
    .names = {"Qwen3ForSequenceClassification"},
    .gguf = "qwen3",
    .keys = {hf::kDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, hf::kHeadNormKeys,
             kHeadlessKeys, hf::kRankKeys},
    .windows = hf::kQwenWindows,
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, hf::kDenseTensors,
                kScoreTensors},
};

}  // namespace hearth
