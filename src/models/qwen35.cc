// Qwen3.5 and its successors 3.6 and 3.8, with experts and without: three layers of four keep the
// state of a gated delta rule, the fourth attends to all positions, with a gate on what comes of
// it. Experts are chosen by softmax and weighted by what the chosen ones have of it; a shared one
// weighs what a gate of its own says.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen35(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    append_hybrid_layer(m, layer, DeltaFiles::kDealt, [&]() -> SpecBuilder::Body {
      return make_feed_forward(m, layer, Gated::kYes, Activation::kSilu);
    });
  });
}

void describe_qwen35moe(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    append_hybrid_layer(m, layer, DeltaFiles::kDealt, [&]() -> SpecBuilder::Body {
      return make_experts(m, layer, {.gating = Gating::kSoftmax, .normalised = true},
                          {.shared_gate = true});
    });
  });
}

}  // namespace hearth
