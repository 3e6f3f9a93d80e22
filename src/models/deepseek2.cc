// DeepSeek-V2, V3 and R1 (DeepSeek-AI 2024, 2025), Kimi-K2 (Moonshot AI 2025): multi-head latent
// attention (graph/ops/latent.h), with queries of low rank in all but the small ones, and experts
// behind some dense layers. GGUF files hold what makes keys of latents transposed, and what makes
// values, by head.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_deepseek2(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_latent_attention(m, layer, RopeLayout::kInterleaved),
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax}), kNormBefore});
  });
}

}  // namespace hearth
