// BERT and what has its shape (bge, MiniLM, e5, arctic; XLM-R, as bge-m3): a learned row for every
// position, GELU, biases everywhere.
#include "models/architectures.h"
#include "models/encoder.h"

namespace hearth {

void describe_bert(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kLearned);
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    m.layer({make_attention(m, layer, {.positions = Positions::kNone, .encoder = true}),
             make_feed_forward(m, layer, Gated::kNo, Activation::kGelu), kNormAfter});
  }
}

}  // namespace hearth
