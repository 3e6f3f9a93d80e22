// Qwen3 with experts (Yang et al. 2025): Qwen3 with experts as feed-forward layers. Experts are
// chosen by a softmax over all of them, and weighted in proportion to its values.
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen3moe(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf, .norms = QkNorms::kHeads}),
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .norm_topk = true}),
             kNormBefore});
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr HfKey kQwen3MoeCounts[] = {
    hf::also_named("num_experts", hf::need("num_local_experts", "expert_count", hf::kExperts,
                                           ModelMost::kExperts)),
    hf::need_up_to("num_experts_per_tok", "expert_used_count", hf::kExperts)};
constexpr HfKey kQwen3MoeKeys[] = {
    hf::need("moe_intermediate_size", "expert_feed_forward_length", hf::kExpertFfn,
             ModelMost::kFfn),
    hf::say("expert_gating_func", GgufGating::kSoftmax, hf::kGating),
    hf::flag("norm_topk_prob", "expert_weights_norm", hf::kNone, false)};

}  // namespace

constinit const HfFamily kQwen3MoeFolder = {
    .names = {"Qwen3MoeForCausalLM"},
    .gguf = "qwen3moe",
    .keys = {hf::kDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, hf::kHeadNormKeys},
    .windows = hf::kQwenWindows,
    .more_keys = {kQwen3MoeCounts, hf::kEveryLayerKeys, kQwen3MoeKeys},
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, hf::kExpertTensors},
};

}  // namespace hearth
