// GLM-4.5 and its successors (arXiv 2508.06471): grouped queries with biases, RoPE over a part of a
// head, and norms of heads in the larger models. Dense layers lead. The layers after them have
// experts chosen by sigmoid with a bias, and a shared expert.
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_glm4moe(SpecBuilder& m) {
  const Residual residual{
      NormKind::kRms, {.before = "attn_norm"}, {.before = "post_attention_norm"}};
  make_decoder(m, [&](uint32_t layer) {
    m.layer(
        {make_attention(m, layer, {.rope = RopeLayout::kHalf, .norms = QkNorms::kHeadsWhereThere}),
         make_swiglu_or_experts(m, layer, {.gating = Gating::kSigmoid}), residual});
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr auto kGlm4MoeKeys = hf::scored_expert_keys(1, 1);

constexpr HfTensor kGlm4MoeNorms[] = {
    hf::vector("input_layernorm", "attn_norm", hf::kWidth),
    hf::vector("post_attention_layernorm", "post_attention_norm", hf::kWidth)};

}  // namespace

constinit const HfFamily kGlm4MoeFolder = {
    .names = {"Glm4MoeForCausalLM"},
    .gguf = "glm4moe",
    .keys = {hf::kDecoderKeys5, hf::kGroupedKeys},
    .rope = {.part_said = true, .part = 0.5},
    .more_keys = {hf::kRoutedKeys, kGlm4MoeKeys},
    .read =
        [](const HfReading& reading) {
          read_expert_groups(reading, {"noaux_tc", 1, 1});
        },
    .tensors = {hf::kModelTensors, kGlm4MoeNorms, hf::kGroupedTensors, hf::kDenseTensors,
                hf::kExpertTensors},
};

}  // namespace hearth
