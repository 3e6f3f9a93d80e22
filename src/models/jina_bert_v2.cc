// jina-embeddings-v2 (Guenther et al. 2023): as BERT, with ALiBi in place of a table of positions
// and GEGLU. Gate and up are two tensors, or stand above each other in ffn_up; the Chinese model
// has BERT's plain GELU instead. The model for code norms all query heads of a row together, and
// all key heads, and has a second norm behind attention's.
#include "models/architectures.h"
#include "models/encoder.h"

namespace hearth {

void describe_jina_bert_v2(SpecBuilder& m) {
  make_encoder_start(m, PositionTable::kNone);
  Residual twice = kNormAfter;
  twice.attention = {.inner = "attn_output_norm", .after = "attn_norm_2"};
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) {
    const bool second = m.has(layer_tensor(layer, "attn_norm_2.weight"));
    m.layer(
        {make_attention(
             m, layer,
             {.positions = Positions::kAlibi, .norms = QkNorms::kRowsWhereThere, .encoder = true}),
         make_feed_forward(m, layer, Gated::kWhereThere, Activation::kGelu),
         second ? twice : kNormAfter});
  }
}

}  // namespace hearth
