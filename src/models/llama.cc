// Llama 2, Llama 3.x and Mistral (Touvron et al. 2023; Grattafiori et al. 2024; Jiang et al. 2023):
// GGUF files hold Q and K permuted so that RoPE's pairs are neighbours. The tensor rope_freqs holds
// Llama 3's factors for long contexts, and a key Mistral's sliding window. Mixtral (Jiang et al.
// 2024) has experts.
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_llama(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kInterleaved}),
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .norm_topk = true}),
             kNormBefore});
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr HfKey kMixtralGating[] = {
    hf::say("expert_gating_func", GgufGating::kSoftmax, hf::kGating),
    hf::say("expert_weights_norm", true)};

}  // namespace

constinit const HfFamily kLlamaFolder = {
    .names = {"LlamaForCausalLM", "MistralForCausalLM"},
    .gguf = "llama",
    .keys = {hf::kDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys},
    .windows = {.kind = HfWindows::Kind::kAll},
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, hf::kDenseTensors},
    .halves = true,
};

constinit const HfFamily kMixtralFolder = {
    .names = {"MixtralForCausalLM"},
    .gguf = "llama",
    .keys = {hf::kDecoderKeys5, hf::kGroupedKeys, hf::kOutputBiasKeys},
    .rope = {.base = 1e6},
    .windows = {.kind = HfWindows::Kind::kAll},
    .more_keys = {hf::kLocalExpertKeys, hf::kEveryLayerKeys, kMixtralGating},
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, hf::kBlockSparseTensors},
    .halves = true,
};

}  // namespace hearth
