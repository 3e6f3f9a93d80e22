// The pre-norm decoder with SwiGLU that Llama and its descendants are, dense or with experts: its
// weights and its graph.
#pragma once

#include "models/layers.h"
#include "models/model_spec.h"

namespace hearth {

// The axes that every transformer here is cut along. FFN columns are cut in blocks of 32 and the
// vocabulary in panels of 16.
struct TransformerAxes {
  AxisId heads, kv_heads, ffn, vocabulary;
  AxisId expert_ffn, shared_ffn;  // where there are experts
};
TransformerAxes add_transformer_axes(SpecBuilder& spec);

// Q, K, V (each a tensor of its own, or the three above each other in attn_qkv) and the output
// projection of a layer, with the biases that the source has.
void describe_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// The same of latent attention: queries (of low rank where the hyper-parameters say so), latents
// and what makes keys and values of them.
void describe_latent_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// Gate, up and down of a layer.
void describe_swiglu(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// Router, experts and shared expert of a layer.
void describe_experts(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// The embedding table, and the head where the source has one of its own.
void describe_vocabulary(SpecBuilder& spec, const TransformerAxes& axes);
// A layer's attention as the hyper-parameters say.
LayerSpec layer_of(const HyperParameters& hyper);

// Norms of query and key heads: none, in every layer, or where the source has some.
enum class HeadNorms : uint8_t { kNone, kAll, kWhereThere };

// Describes a whole decoder, with experts where the hyper-parameters say so.
void describe_decoder(SpecBuilder& spec, HeadNorms head_norms = HeadNorms::kNone,
                      const char* ffn_norm = "ffn_norm.weight");
void build_decoder(Layers& layers);

}  // namespace hearth
