// The pre-norm decoder with SwiGLU that Llama and its descendants are: its weights and its graph.
#pragma once

#include "models/layers.h"
#include "models/model_spec.h"

namespace hearth {

// The axes that every transformer here is cut along. FFN columns are cut in blocks of 32 and the
// vocabulary in panels of 16.
struct TransformerAxes {
  AxisId heads, kv_heads, ffn, vocabulary;
};
TransformerAxes add_transformer_axes(SpecBuilder& spec);

// Q, K, V (each a tensor of its own, or the three above each other in attn_qkv) and the output
// projection of a layer, with the biases that the source has.
void describe_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// Gate, up and down of a layer.
void describe_swiglu(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// The embedding table, and the head where the source has one of its own.
void describe_vocabulary(SpecBuilder& spec, const TransformerAxes& axes);
// A layer's attention as the hyper-parameters say.
LayerSpec layer_of(const HyperParameters& hyper);

// Describes a whole dense decoder. `qk_norm`: every query and key head is normed.
void describe_dense_decoder(SpecBuilder& spec, bool qk_norm = false);
void build_dense_decoder(Layers& layers);

}  // namespace hearth
