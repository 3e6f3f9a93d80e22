// Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on Q, K and V and RoPE's pairs half a
// head apart.
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen2(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormBefore});
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr HfKey kQwen2BiasKeys[] = {hf::flag("attention_bias", nullptr, hf::kBias, true)};

}  // namespace

constinit const HfFamily kQwen2Folder = {
    .names = {"Qwen2ForCausalLM"},
    .gguf = "qwen2",
    .keys = {hf::kDecoderKeys, hf::kGroupedKeys, kQwen2BiasKeys},
    .windows = hf::kQwenWindows,
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, hf::kDenseTensors},
};

}  // namespace hearth
