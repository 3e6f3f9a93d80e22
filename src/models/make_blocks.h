// Makes blocks: each of these reads the keys of one layer, decides what is optional, names the
// block's tensors (as llama.cpp's converter writes and its loader reads them) with shape, axis and
// cut, and gives the block. An architecture is a list of calls of these.
//
// Axes: query heads and their KV heads are cut together, FFN columns in blocks of 32, the
// vocabulary in panels of 16.
#pragma once

#include <functional>

#include "graph/ops/gated_conv.h"
#include "models/spec_builder.h"

namespace hearth {

// Reads RoPE's parameters from the layer's keys: base, rotated elements of a head (default
// `head_length`), scaling; and factors of frequencies from tensors: rope_freqs (Llama 3), or
// rope_factors_long and rope_factors_short (LongRoPE).
RopeParams read_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout, uint32_t head_length);
// Reads RoPE of a layer with a window: a base of its own, and no scaling or factors.
RopeParams read_local_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout, uint32_t head_length);
// Returns how many positions the model was trained for before its context was extended:
// rope.scaling.original_context_length, or without that key the context.
uint32_t original_context(SpecBuilder& m, uint32_t layer);

// How attention encodes positions: not at all, by RoPE, or by ALiBi.
enum class Positions : uint8_t { kNone, kRope, kAlibi };
// Norms of query and key heads: none, RMS norms of every head (in every layer, or where the source
// has some), RMS norms of all heads of a row together, or layer norms of these where the source has
// some.
enum class QkNorms : uint8_t { kNone, kHeads, kHeadsWhereThere, kRows, kLayerRowsWhereThere };

// The window of a layer, in a model whose layers have one window (or none), or are of two kinds:
// those that see all positions before their own, and those that see a window, which turn by a base
// of their own (rope.freq_base_swa) that nothing scales.
enum class Window : uint8_t { kAsAll, kNone, kLocal };
// Returns the window of a layer in a model with two kinds: every `period`th layer has none
// (attention.sliding_window_pattern may say another period, or which layers have one).
Window window_of(SpecBuilder& m, uint32_t layer, uint32_t period);

struct AttentionOptions {
  RopeLayout rope = RopeLayout::kInterleaved;
  Positions positions = Positions::kRope;
  QkNorms norms = QkNorms::kNone;
  Window window = Window::kAsAll;
  // Scores are divided by the square root of this where the file has no scale; 0: of a head's
  // length.
  double score_length = 0;
  // Every query head has a sink: attn_sinks.
  bool sinks = false;
  // attn_q has a gate behind each head's rows (AttentionBlock::gated).
  bool gated = false;
  // Each value head gets an RMS norm without a weight.
  bool value_norms = false;
  // attn_v may be missing: keys then are the values, too (AttentionBlock::has_values_of_keys()).
  bool values_may_be_keys = false;
  // The layer whose keys and values are used in place of own ones; it must have as many heads of
  // the same lengths. The layer's own K and V tensors may be there, and are not read.
  std::optional<uint32_t> keys_of = {};
  // A row sees its whole text. Otherwise attention is causal unless the file says it is not.
  bool encoder = false;
};
// Makes attention of attn_q, attn_k, attn_v (or the three stacked by rows in attn_qkv) and
// attn_output, with the biases that the source has; attn_q_norm and attn_k_norm.
AttentionBlock make_attention(SpecBuilder& m, uint32_t layer, const AttentionOptions& options);

// Makes latent attention of attn_q_a, attn_q_a_norm and attn_q_b, or attn_q; attn_kv_a_mqa,
// attn_kv_a_norm; attn_k_b, attn_v_b; attn_output.
LatentBlock make_latent_attention(SpecBuilder& m, uint32_t layer, RopeLayout rope);

// Whether a layer of a model with states is one of those with full attention: every
// full_attention_interval'th (4), or none of attention.recurrent_layers. Throws (kUnsupported) for
// the first layer where none is.
bool has_full_attention(SpecBuilder& m, uint32_t layer);
// How value heads lie in a file. kBesideEachOther: those of a key head are neighbours, and ssm_ba
// holds alpha and beta. kDealt: first the first value head of every key head, then the second of
// each, ...; ssm_alpha and ssm_beta are two tensors.
enum class DeltaFiles : uint8_t { kBesideEachOther, kDealt };
// Makes a gated delta rule of attn_qkv, attn_gate, ssm_conv1d, ssm_dt, ssm_a, ssm_alpha and
// ssm_beta (or both in ssm_ba), ssm_norm, ssm_out.
// Refuses attention.causal = false in a model with states, which only hold what came before.
void refuse_not_causal(SpecBuilder& m);
DeltaBlock make_delta(SpecBuilder& m, uint32_t layer, DeltaFiles files);
// Appends a layer of Qwen's hybrids: make_delta(), or attention with gates, norms of heads and RoPE
// in halves; then the block that `feed_forward` makes, normed by post_attention_norm.
void append_hybrid_layer(SpecBuilder& m, uint32_t layer, DeltaFiles files,
                         const std::function<SpecBuilder::Body()>& feed_forward);

// Whether a layer of a model with short convolutions is one of those: its attention.head_count_kv
// is 0. Throws (kUnsupported) for the first layer where all are.
bool has_short_conv(SpecBuilder& m, uint32_t layer);
// Makes a short convolution of shortconv.in_proj (B, C and X stacked by rows), shortconv.conv and
// shortconv.out_proj.
ShortConvBlock make_short_conv(SpecBuilder& m, uint32_t layer);

// Makes a feed-forward block of ffn_up and ffn_down, and where it is gated ffn_gate (or ffn_up
// holds the gate's rows and then up's), with the biases that the source has.
enum class Gated : uint8_t { kNo, kYes, kWhereThere };
FeedForwardBlock make_feed_forward(SpecBuilder& m, uint32_t layer, Gated gated,
                                   Activation activation);

// How experts are chosen where the file does not say.
struct RouterDefaults {
  Gating gating = Gating::kSoftmax;
  bool normalised = false;
};
// The form of experts' products, and whether these, and the router's, have biases.
struct ExpertProducts {
  Activation activation = Activation::kSilu;
  bool biases = false;
  bool shared_gate = false;  // the shared expert has one: ffn_gate_inp_shexp
  bool router_norm = false;  // the router reads a norm of its own: ffn_gate_inp.scale
  bool scales = false;       // of what experts weigh: ffn_down_exps.scale
};
// Makes experts of ffn_gate_inp, exp_probs_b; ffn_gate_exps and ffn_up_exps (or both in
// ffn_gate_up_exps) and ffn_down_exps; for a shared expert ffn_gate_shexp, ffn_up_shexp,
// ffn_down_shexp.
ExpertsBlock make_experts(SpecBuilder& m, uint32_t layer, const RouterDefaults& defaults,
                          const ExpertProducts& products = {});
// Whether the layer has experts in place of one feed-forward block: in a model with experts, all
// layers after the leading dense ones.
bool has_experts(SpecBuilder& m, uint32_t layer);
// Makes experts where has_experts(), else a dense SwiGLU block.
SpecBuilder::Body make_swiglu_or_experts(SpecBuilder& m, uint32_t layer,
                                         const RouterDefaults& defaults,
                                         const ExpertProducts& products = {});

// Makes the embeddings for each layer: per_layer_model_proj, per_layer_proj_norm and
// per_layer_token_embd. To be called before any layer is made.
void make_per_layer_inputs(SpecBuilder& m);
// Makes a PerLayerBlock of the tensors inp_gate and proj.
PerLayerBlock make_per_layer(SpecBuilder& m, uint32_t layer);

// Makes the embedding table of token_embd.
void make_token_table(SpecBuilder& m);
// Makes a reranker's head, where the source has one, of cls (tanh) and cls.output, or one of these
// alone, as llama.cpp's converter names them; classifier.output_labels names its rows. Throws
// (kUnsupported) where it gives more than one score.
void make_score_head(SpecBuilder& m);
// Makes a whole decoder: token_embd, output where the source has it, every layer by `make_layer`,
// and the last norm.
void make_decoder(SpecBuilder& m, const std::function<void(uint32_t layer)>& make_layer,
                  const char* last_norm = "output_norm");

// One norm before attention and one before the feed-forward block, as in Llama.
inline constexpr Residual kNormBefore{
    NormKind::kRms, {.before = "attn_norm"}, {.before = "ffn_norm"}};

}  // namespace hearth
