// nomic-embed-text v1 and v1.5 (Nussbaum et al. 2024): as BERT, with RoPE in place of a table of
// positions, SwiGLU, and no biases but those of the norms.
#include "models/architectures.h"
#include "models/encoder.h"

namespace hearth {

void describe_nomic_bert(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kNone);
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf, .encoder = true}),
             make_feed_forward(m, layer, Gated::kYes, Activation::kSilu), kNormAfter});
  }
}

}  // namespace hearth
