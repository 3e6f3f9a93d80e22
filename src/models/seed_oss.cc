// Seed-OSS (ByteDance Seed 2025): Qwen2 with a head length that is not width / heads, and another
// name of the second norm.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_seed_oss(SpecBuilder& m) {
  const Residual residual{
      NormKind::kRms, {.before = "attn_norm"}, {.before = "post_attention_norm"}};
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), residual});
  });
}

}  // namespace hearth
