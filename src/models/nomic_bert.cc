// nomic-embed-text v1 and v1.5 (Nussbaum et al. 2024): as BERT, with RoPE in place of a table of
// positions, SwiGLU, and no biases but those of the norms.
#include "models/architectures.h"
#include "models/encoder.h"

namespace hearth {

void describe_nomic_bert(SpecBuilder& spec) {
  spec.hyper().rope.layout = RopeLayout::kHalf;
  TransformerAxes axes = describe_encoder_start(spec);
  for (uint32_t layer = 0; layer < spec.hyper().layers; ++layer) {
    describe_encoder_attention(spec, axes, layer);
    describe_encoder_ffn(spec, axes, layer, /*gated=*/true);
  }
}

}  // namespace hearth
