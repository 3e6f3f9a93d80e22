// Encoders derived from BERT (Devlin et al. 2019): every position sees all others, a layer norm
// stands behind every residual, and what comes out is the last layer's norm. Tensors are named, and
// may be missing or fused, as llama.cpp's converter writes and its loader reads them:
//
//   token_embd, token_types (row 0 is added), position_embd; token_embd_norm
//   blk.N.attn_q, attn_k, attn_v, or attn_qkv; attn_output; attn_output_norm
//   blk.N.ffn_gate (gated), ffn_up, ffn_down; layer_output_norm
//
// Position tables of XLM-R, whose first row in use is padding_idx + 1 = 2, come from the converter
// without the rows before it, so row i is position i here too.
#pragma once

#include "models/decoder.h"

namespace hearth {

// The axes, the tables, and the norm of their sum. Throws (kUnsupported) for a reranker.
TransformerAxes describe_encoder_start(SpecBuilder& spec);
// Attention of a layer with the norm behind it.
void describe_encoder_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer);
// Up and down (and gate, where `gated`), biases where there are some, and the norm behind them.
void describe_encoder_ffn(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer,
                          bool gated);
// A layer norm of the model's width.
void describe_layer_norm(SpecBuilder& spec, WeightRole norm, int layer, const std::string& name);

void build_encoder(Layers& layers);

}  // namespace hearth
