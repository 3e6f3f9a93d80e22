// Llama 2, Llama 3.x and Mistral (Touvron et al. 2023; Grattafiori et al. 2024; Jiang et al. 2023):
// GGUF files hold Q and K permuted so that RoPE's pairs are neighbours. Llama 3's long-context
// factors come as the tensor rope_freqs, Mistral's sliding window as a key. Mixtral (Jiang et al.
// 2024) has experts.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_llama(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kInterleaved}),
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .normalised = true}),
             kNormBefore});
  });
}

}  // namespace hearth
