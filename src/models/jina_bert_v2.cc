// jina-embeddings-v2 (Guenther et al. 2023): as BERT, with ALiBi in place of a table of positions
// and GEGLU. Gate and up are two tensors, or stand above each other in ffn_up; the Chinese model
// has BERT's plain GELU instead. The model for code norms all query heads of a row together, and
// all key heads, and has a second norm behind attention's.
#include "base/error.h"
#include "models/architectures.h"
#include "models/encoder.h"

namespace hearth {
namespace {

bool is_gated(SpecBuilder& spec, uint32_t layer) {
  if (spec.source().find_tensor(layer_tensor(layer, "ffn_gate.weight")) != nullptr) return true;
  const SourceTensor* up = spec.source().find_tensor(layer_tensor(layer, "ffn_up.weight"));
  return up != nullptr && up->rows() != spec.hyper().ffn;
}

// A norm of so many elements, where there is one.
bool describe_norm_if_there(SpecBuilder& spec, WeightRole norm, uint32_t layer, const char* name,
                            uint32_t size) {
  const std::string base = layer_tensor(layer, name);
  if (spec.source().find_tensor(base + ".weight") == nullptr) return false;
  spec.vector(norm, static_cast<int>(layer), base + ".weight", size);
  spec.vector_if_there(bias_of(norm), static_cast<int>(layer), base + ".bias", size);
  return true;
}

}  // namespace

void describe_jina_bert_v2(SpecBuilder& spec) {
  TransformerAxes axes = describe_encoder_start(spec);
  spec.set_activation(Activation::kGelu);
  const HyperParameters& hyper = spec.hyper();
  for (uint32_t layer = 0; layer < hyper.layers; ++layer) {
    describe_encoder_attention(spec, axes, layer);
    bool queries = describe_norm_if_there(spec, WeightRole::kQueryNorm, layer, "attn_q_norm",
                                          hyper.heads * hyper.key_length);
    bool keys = describe_norm_if_there(spec, WeightRole::kKeyNorm, layer, "attn_k_norm",
                                       hyper.kv_heads * hyper.key_length);
    if (queries != keys) {
      fail(ErrorCode::kFile,
           "'{}' norms {} of layer {} and not {}: the file is damaged or made for another program",
           spec.source().name(), queries ? "queries" : "keys", layer, queries ? "keys" : "queries");
    }
    describe_norm_if_there(spec, WeightRole::kSecondNorm, layer, "attn_norm_2", hyper.width);
    describe_encoder_ffn(spec, axes, layer, is_gated(spec, layer));
  }
}

}  // namespace hearth
