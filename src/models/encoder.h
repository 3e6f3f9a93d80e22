// Encoders derived from BERT (Devlin et al. 2019): every position sees all others, a layer norm
// stands behind every residual, and the result is the last layer's norm. Tensors may be missing or
// fused, and have the names that llama.cpp's converter writes and its loader reads:
//
//   token_embd, token_types, position_embd; token_embd_norm
//   blk.N.attn_q, attn_k, attn_v, or attn_qkv; attn_output; attn_output_norm
//   blk.N.ffn_gate (gated), ffn_up, ffn_down; layer_output_norm
//
// Position tables of XLM-R have padding_idx + 1 = 2 as their first row in use. The converter leaves
// out the rows before it, so row i is position i here too.
#pragma once

#include "models/make_blocks.h"

namespace hearth {

// Makes the tables of tokens and types, with kLearned also of positions, the norm of their sum, and
// a reranker's head.
enum class PositionTable : uint8_t { kNone, kLearned };
void make_encoder_start(SpecBuilder& m, PositionTable positions);

inline constexpr Residual kNormAfter{
    NormKind::kLayer, {.after = "attn_output_norm"}, {.after = "layer_output_norm"}};

}  // namespace hearth
