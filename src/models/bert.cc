// BERT and what has its shape (bge, MiniLM, e5, arctic; XLM-R, as bge-m3): a learned row for every
// position, GELU, biases everywhere.
#include "models/architectures.h"
#include "models/encoder.h"

namespace hearth {

void describe_bert(SpecBuilder& spec) {
  TransformerAxes axes = describe_encoder_start(spec);
  spec.set_activation(Activation::kGelu);
  for (uint32_t layer = 0; layer < spec.hyper().layers; ++layer) {
    describe_encoder_attention(spec, axes, layer);
    describe_encoder_ffn(spec, axes, layer, /*gated=*/false);
  }
}

}  // namespace hearth
