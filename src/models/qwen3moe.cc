// Qwen3 with experts (Yang et al. 2025): as Qwen3, with experts for a feed-forward layer, chosen by
// softmax and weighted by what the chosen ones have of it.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen3moe(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf, .norms = QkNorms::kHeads}),
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .normalised = true}),
             kNormBefore});
  });
}

}  // namespace hearth
