// Makes blocks. Each function reads the keys of one layer, decides which optional parts it has,
// declares the block's tensors with shape, axis and cut, and returns the block. Tensors have the
// names that llama.cpp's converter writes and its loader reads. An architecture is a list of calls
// of these functions.
//
// Axes: query heads and their KV heads are cut together, FFN columns in blocks of 32, the
// vocabulary in panels of 16.
#pragma once

#include <functional>

#include "graph/ops/gated_conv.h"
#include "models/spec_builder.h"

namespace hearth {

// Reads RoPE's parameters from the layer's keys: base, rotated elements of a head (default
// `head_length`) and scaling. Factors of frequencies come from tensors: rope_freqs (Llama 3), or
// rope_factors_long and rope_factors_short (LongRoPE).
RopeParams read_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout, uint32_t head_length);
// Reads RoPE of a layer with a window: it has another base (rope.freq_base_swa), and no scaling or
// factors.
RopeParams read_local_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout, uint32_t head_length);
// Returns how many positions the model was trained for before its context was extended:
// rope.scaling.original_context_length, or without that key the context.
uint32_t original_context(SpecBuilder& m, uint32_t layer);

// How attention encodes positions: not at all, by RoPE, or by ALiBi.
enum class Positions : uint8_t { kNone, kRope, kAlibi };
// Norms of query and key heads: none; RMS norms of every head (in every layer, or in layers whose
// tensors the source has); RMS norms of all heads of a row together; layer norms of these, if the
// source has them.
enum class QkNorms : uint8_t { kNone, kHeads, kHeadsWhereThere, kRows, kLayerRowsWhereThere };

// The window of a layer. kAsAll: the model's one window, or none. The others are for models with
// two kinds of layers. kNone: the layer sees all positions before its own. kLocal: it sees a
// window, and its RoPE has another base (rope.freq_base_swa) and no scaling.
enum class Window : uint8_t { kAsAll, kNone, kLocal };
// Returns the window of a layer in a model with two kinds: every `period`th layer has none. The key
// attention.sliding_window_pattern may give another period, or list which layers have one.
Window window_of(SpecBuilder& m, uint32_t layer, uint32_t period);

struct AttentionOptions {
  RopeLayout rope = RopeLayout::kInterleaved;
  Positions positions = Positions::kRope;
  QkNorms norms = QkNorms::kNone;
  Window window = Window::kAsAll;
  // If the file has no scale of scores, they are divided by the square root of this number; 0
  // stands for a head's length.
  double score_length = 0;
  // Every query head has a sink: attn_sinks.
  bool sinks = false;
  // attn_q has a gate's rows after each head's rows (AttentionBlock::gated).
  bool gated = false;
  // Each value head gets an RMS norm without a weight.
  bool value_norms = false;
  // attn_v may be missing; then values are the keys (AttentionBlock::has_values_of_keys()).
  bool values_may_be_keys = false;
  // The layer whose keys and values this layer reads; it must have as many heads of the same
  // lengths. This layer's own K and V tensors may be in the file, and are not read.
  std::optional<uint32_t> keys_of = {};
  // Attention sees the whole text. Else it is causal, unless the file says that it is not.
  bool encoder = false;
};
// Makes attention of attn_q, attn_k, attn_v (or the three stacked by rows in attn_qkv) and
// attn_output, with the biases that the source has; attn_q_norm and attn_k_norm.
AttentionBlock make_attention(SpecBuilder& m, uint32_t layer, const AttentionOptions& options);

// Makes latent attention of attn_q_a, attn_q_a_norm and attn_q_b, or attn_q; attn_kv_a_mqa,
// attn_kv_a_norm; attn_k_b, attn_v_b; attn_output.
LatentBlock make_latent_attention(SpecBuilder& m, uint32_t layer, RopeLayout rope);

// Returns whether a layer of a model with states has full attention: every
// full_attention_interval'th layer (default 4) or, with attention.recurrent_layers, each layer for
// which that key is false. If no layer has full attention, throws Error (kUnsupported) for the
// first layer.
bool has_full_attention(SpecBuilder& m, uint32_t layer);
// The order of value heads in a file. kBesideEachOther: value heads of a key head are neighbours,
// and ssm_ba holds alpha and beta. kDealt: the first value head of every key head, then the second
// of each, ...; ssm_alpha and ssm_beta are two tensors.
enum class DeltaFiles : uint8_t { kBesideEachOther, kDealt };
// Refuses attention.causal = false in a model with states, since a state only holds earlier
// positions.
void refuse_not_causal(SpecBuilder& m);
// Makes a gated delta rule of attn_qkv, attn_gate, ssm_conv1d, ssm_dt, ssm_a, ssm_alpha and
// ssm_beta (or both in ssm_ba), ssm_norm, ssm_out.
DeltaBlock make_delta(SpecBuilder& m, uint32_t layer, DeltaFiles files);
// Appends a layer of Qwen's hybrids: make_delta(), or attention with gates, norms of heads and RoPE
// in halves; then the block from `feed_forward`, with the norm post_attention_norm.
void append_hybrid_layer(SpecBuilder& m, uint32_t layer, DeltaFiles files,
                         const std::function<SpecBuilder::Body()>& feed_forward);

// Returns whether a layer of a model with short convolutions is a convolution: its
// attention.head_count_kv is 0. If all layers are convolutions, throws Error (kUnsupported) for the
// first one.
bool has_short_conv(SpecBuilder& m, uint32_t layer);
// Makes a short convolution of shortconv.in_proj (B, C and X stacked by rows), shortconv.conv and
// shortconv.out_proj.
ShortConvBlock make_short_conv(SpecBuilder& m, uint32_t layer);

// Makes a feed-forward block of ffn_up and ffn_down, with the biases that the source has. A gated
// block also has ffn_gate, or ffn_up holds the gate's rows and then up's.
enum class Gated : uint8_t { kNo, kYes, kWhereThere };
FeedForwardBlock make_feed_forward(SpecBuilder& m, uint32_t layer, Gated gated,
                                   Activation activation);

// How experts are chosen if the file does not say.
struct RouterDefaults {
  Gating gating = Gating::kSoftmax;
  bool norm_topk = false;
};
// The form of experts' products, and whether these and the router's product have biases.
struct ExpertProducts {
  Activation activation = Activation::kSilu;
  bool biases = false;
  bool shared_gate = false;  // the shared expert has a gate: ffn_gate_inp_shexp
  bool router_norm = false;  // the router reads a norm of its own: ffn_gate_inp.scale
  bool scales = false;       // factors of experts' weights: ffn_down_exps.scale
};
// Makes experts of ffn_gate_inp, exp_probs_b; ffn_gate_exps and ffn_up_exps (or both in
// ffn_gate_up_exps) and ffn_down_exps; for a shared expert ffn_gate_shexp, ffn_up_shexp,
// ffn_down_shexp.
ExpertsBlock make_experts(SpecBuilder& m, uint32_t layer, const RouterDefaults& defaults,
                          const ExpertProducts& products = {});
// Returns whether the layer has experts in place of one feed-forward block. In a model with
// experts, all layers after the leading dense ones have.
bool has_experts(SpecBuilder& m, uint32_t layer);
// Makes experts if has_experts(), else a dense SwiGLU block.
SpecBuilder::Body make_swiglu_or_experts(SpecBuilder& m, uint32_t layer,
                                         const RouterDefaults& defaults,
                                         const ExpertProducts& products = {});

// Makes the embeddings for each layer: per_layer_model_proj, per_layer_proj_norm and
// per_layer_token_embd. Must be called before any layer is made.
void make_per_layer_inputs(SpecBuilder& m);
// Makes a PerLayerBlock of the tensors inp_gate and proj.
PerLayerBlock make_per_layer(SpecBuilder& m, uint32_t layer);

// Makes the embedding table of token_embd.
void make_token_table(SpecBuilder& m);
// Makes a reranker's head, if the source has one, of cls (tanh) and cls.output, or of only one of
// these. The names are those of llama.cpp's converter; classifier.output_labels names its rows.
// Throws Error (kUnsupported) for a head that gives more than one score.
void make_score_head(SpecBuilder& m);
// Makes a whole decoder: token_embd, output if the source has it, every layer by `make_layer`, and
// the last norm.
void make_decoder(SpecBuilder& m, const std::function<void(uint32_t layer)>& make_layer,
                  const char* last_norm = "output_norm");

// One norm before attention and one before the feed-forward block, as in Llama.
inline constexpr Residual kNormBefore{
    NormKind::kRms, {.before = "attn_norm"}, {.before = "ffn_norm"}};

}  // namespace hearth
