// Rows (keys of config.json, names of tensors) that several families of decoder folders share, as
// transformers' models of Llama's kind have them. A family lists the sets that apply to it
// (formats/hf_family.h).
#pragma once

#include "formats/hf_rows.h"

namespace hearth::hf {

// Returns the keys that all decoders have. `epsilon` is the norms' epsilon if config.json has none.
constexpr auto decoder_keys(double epsilon) {
  return std::to_array<HfKey>(
      {must_be("hidden_act", "silu"),
       need("num_hidden_layers", "block_count", kLayers, ModelMost::kLayers),
       count_or("num_nextn_predict_layers", nullptr, kPredictLayers, ModelMost::kLayers, 0),
       need("max_position_embeddings", "context_length", kContext, ModelMost::kContext),
       need("hidden_size", "embedding_length", kWidth, ModelMost::kWidth),
       need("intermediate_size", "feed_forward_length", kFfn, ModelMost::kFfn),
       need("vocab_size", "vocab_size", kVocabulary, ModelMost::kVocabulary),
       real("rms_norm_eps", "attention.layer_norm_rms_epsilon", epsilon),
       flag("tie_word_embeddings", nullptr, kTied, false),
       need("num_attention_heads", "attention.head_count", kHeads, ModelMost::kHeads)});
}
inline constexpr auto kDecoderKeys = decoder_keys(1e-6), kDecoderKeys5 = decoder_keys(1e-5);

// Keys of grouped-query attention. The keys for biases and head norms decide which tensors a folder
// must have.
inline constexpr HfKey kGroupedKeys[] = {
    count_or("num_key_value_heads", "attention.head_count_kv", kKvHeads, ModelMost::kHeads, kHeads),
    count_or("head_dim", "attention.key_length", kHeadLength, ModelMost::kLength, kEvenHead),
    say("attention.value_length", kHeadLength), flag("attention_bias", nullptr, kBias, false),
    flag("use_qk_norm", nullptr, kHeadNorms, false)};
inline constexpr HfKey kOutputBiasKeys[] = {say(nullptr, kBias, kOutputBias)};
inline constexpr HfKey kHeadNormKeys[] = {say(nullptr, 1, kHeadNorms)};

// Windows are off unless use_sliding_window is true. Without layer_types, layers from
// max_window_layers on have one.
inline constexpr HfWindows kQwenWindows = {.kind = HfWindows::Kind::kAll,
                                           .use = "use_sliding_window",
                                           .first_key = "max_window_layers",
                                           .first = 28};

// Keys of models with experts in every layer.
inline constexpr HfKey kEveryLayerKeys[] = {
    must_count("decoder_sparse_step", 1, "every layer must have experts"),
    no_dense_layers("every layer must have experts"),
    must_be_empty("mlp_only_layers", "every layer must have experts")};
inline constexpr HfKey kLocalExpertKeys[] = {
    need("num_local_experts", "expert_count", kExperts, ModelMost::kExperts),
    need_up_to("num_experts_per_tok", "expert_used_count", kExperts)};
// Keys of models with experts behind dense layers.
inline constexpr HfKey kRoutedKeys[] = {
    need("n_routed_experts", "expert_count", kExperts, ModelMost::kExperts),
    need_up_to("num_experts_per_tok", "expert_used_count", kExperts),
    need("moe_intermediate_size", "expert_feed_forward_length", kExpertFfn, ModelMost::kFfn),
    count("n_shared_experts", "expert_shared_count", kSharedExperts, ModelMost::kExperts, 0),
    must_count("moe_layer_freq", 1,
               "it supports only experts in every layer after the dense ones")};
inline constexpr HfChoice kGatings[] = {{"softmax", GgufGating::kSoftmax},
                                        {"sigmoid", GgufGating::kSigmoid}};

// Keys of routers that score by a sigmoid, behind `dense` dense layers.
constexpr auto scored_expert_keys(uint32_t dense, double scale) {
  return std::to_array<HfKey>(
      {dense_layers(dense), real("routed_scaling_factor", "expert_weights_scale", scale),
       flag("norm_topk_prob", "expert_weights_norm", kNone, true),
       choice("scoring_func", "expert_gating_func", kGating, kGatings, "sigmoid")});
}

inline constexpr HfTensor kModelTensors[] = {
    of_model("embed_tokens", "token_embd", kVocabulary, kWidth),
    where(kHead, at_top("lm_head", "output", kVocabulary, kWidth)),
    of_model("norm", "output_norm", kWidth),
    of_model("rotary_emb.inv_freq", "", kNone, kNone, HfKind::kIgnored),
    in_layer("self_attn.rotary_emb.inv_freq", "", HfKind::kIgnored)};

inline constexpr HfTensor kNormTensors[] = {vector("input_layernorm", "attn_norm", kWidth),
                                            vector("post_attention_layernorm", "ffn_norm", kWidth)};

inline constexpr HfTensor kGroupedTensors[] = {
    matrix("self_attn.q_proj", "attn_q", kQueryRows, kWidth, kBias, HfKind::kQueries),
    matrix("self_attn.k_proj", "attn_k", kKeyRows, kWidth, kBias, HfKind::kKeys),
    matrix("self_attn.v_proj", "attn_v", kKeyRows, kWidth, kBias),
    matrix("self_attn.o_proj", "attn_output", kWidth, kQueryRows, kOutputBias),
    where(kHeadNorms, vector("self_attn.q_norm", "attn_q_norm", kHeadLength)),
    where(kHeadNorms, vector("self_attn.k_norm", "attn_k_norm", kHeadLength))};

inline constexpr HfTensor kDenseTensors[] = {
    in_layers(HfLayers::kDense, matrix("mlp.gate_proj", "ffn_gate", kFfn, kWidth)),
    in_layers(HfLayers::kDense, matrix("mlp.up_proj", "ffn_up", kFfn, kWidth)),
    in_layers(HfLayers::kDense, matrix("mlp.down_proj", "ffn_down", kWidth, kFfn))};

constexpr HfTensor expert(std::string_view from, std::string_view to, HfValue rows,
                          HfValue columns) {
  return in_layers(HfLayers::kSparse, matrix(from, to, rows, columns, kNone, HfKind::kExpert));
}
// Returns the row for all experts of a layer in one tensor, under the whole names.
constexpr HfTensor expert_matrices(std::string_view from, std::string_view to, HfValue rows,
                                   HfValue columns) {
  return in_layers(HfLayers::kSparse,
                   {HfScope::kLayer, HfKind::kExpertMatrices, from, to, rows, columns});
}
constexpr HfTensor shared_expert(std::string_view from, std::string_view to, HfValue rows,
                                 HfValue columns) {
  return in_layers(HfLayers::kSparse, where(kSharedExperts, matrix(from, to, rows, columns)));
}
constexpr HfTensor router(std::string_view from) {
  return in_layers(HfLayers::kSparse, table(from, "ffn_gate_inp", kExperts, kWidth));
}
constexpr HfTensor routing_bias(std::string_view from) {
  return in_layers(HfLayers::kSparse, where(kRoutingBias, {HfScope::kLayer, HfKind::kWhole, from,
                                                           "exp_probs_b.bias", kExperts}));
}
// Experts as Mixtral names them. Their width is config.json's width of an FFN.
inline constexpr HfTensor kBlockSparseTensors[] = {
    router("block_sparse_moe.gate"),
    expert("block_sparse_moe.experts.{}.w1", "ffn_gate_exps", kFfn, kWidth),
    expert("block_sparse_moe.experts.{}.w3", "ffn_up_exps", kFfn, kWidth),
    expert("block_sparse_moe.experts.{}.w2", "ffn_down_exps", kWidth, kFfn)};
inline constexpr HfTensor kExpertTensors[] = {
    router("mlp.gate"),
    routing_bias("mlp.gate.e_score_correction_bias"),
    expert("mlp.experts.{}.gate_proj", "ffn_gate_exps", kExpertFfn, kWidth),
    expert("mlp.experts.{}.up_proj", "ffn_up_exps", kExpertFfn, kWidth),
    expert("mlp.experts.{}.down_proj", "ffn_down_exps", kWidth, kExpertFfn),
    shared_expert("mlp.shared_experts.gate_proj", "ffn_gate_shexp", kSharedFfn, kWidth),
    shared_expert("mlp.shared_experts.up_proj", "ffn_up_shexp", kSharedFfn, kWidth),
    shared_expert("mlp.shared_experts.down_proj", "ffn_down_shexp", kWidth, kSharedFfn)};

}  // namespace hearth::hf
