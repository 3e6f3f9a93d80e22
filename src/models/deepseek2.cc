// DeepSeek-V2, V3 and R1 (DeepSeek-AI 2024, 2025), Kimi-K2 (Moonshot AI 2025): multi-head latent
// attention (graph/ops/latent.h), with queries of low rank in all but the small ones, and experts
// behind some dense layers. GGUF files hold what makes keys of latents transposed, and what makes
// values, by head.
#include "models/architectures.h"
#include "models/decoder.h"

namespace hearth {

void describe_deepseek2(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kInterleaved;
  describe_decoder(spec);
}

}  // namespace hearth
