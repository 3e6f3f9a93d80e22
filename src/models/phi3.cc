// Phi-3 and Phi-4 (Abdin et al. 2024, arXiv 2404.14219 and 2412.08905): Llama with Q, K and V in
// one tensor, gate and up in another, and RoPE over a part of a head. The models for long contexts
// have LongRoPE's two sets of factors.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_phi3(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormBefore});
  });
}

}  // namespace hearth
