// GLM-4.5 and its successors (arXiv 2508.06471): grouped queries with biases, RoPE over a part of a
// head, norms of heads in the larger models, leading dense layers, and behind them experts chosen
// by sigmoid with a bias, beside a shared one.
#include "models/architectures.h"
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

}  // namespace hearth
