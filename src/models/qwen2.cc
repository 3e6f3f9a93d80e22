// Qwen2 and Qwen2.5 (Yang et al. 2024): as Llama, with biases on Q, K and V and RoPE's pairs half a
// head apart.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen2(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormBefore});
  });
}

}  // namespace hearth
