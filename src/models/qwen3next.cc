// Qwen3-Next (Qwen3-Next-80B-A3B, Qwen3-Coder-Next): as Qwen3.5 with experts, but for how the value
// heads lie in files.
#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen3next(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    append_hybrid_layer(m, layer, DeltaFiles::kBesideEachOther, [&]() -> SpecBuilder::Body {
      return make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .normalised = true},
                                    {.shared_gate = true});
    });
  });
}

}  // namespace hearth
