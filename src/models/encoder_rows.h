// Rows (keys of config.json, names of tensors) that several families of encoder folders share, as
// transformers' BERT has them. A family lists the sets that apply to it (formats/hf_family.h).
#pragma once

#include "formats/hf_rows.h"

namespace hearth::hf {

inline constexpr HfTexts kEncoderPrefixes = {"bert.", "roberta.", "model."};
inline constexpr HfTexts kEncoderLayers = {"encoder.layer.", "encoder.layers."};

// Keys by the names that BERT's config.json uses.
inline constexpr HfKey kBertKeys[] = {
    need("num_hidden_layers", "block_count", kLayers, ModelMost::kLayers),
    need("hidden_size", "embedding_length", kWidth, ModelMost::kWidth),
    count_or("intermediate_size", "feed_forward_length", kFfn, ModelMost::kFfn, kFourWidths),
    need("num_attention_heads", "attention.head_count", kHeads, ModelMost::kHeads),
    need("vocab_size", "vocab_size", kVocabulary, ModelMost::kVocabulary),
    real("layer_norm_eps", "attention.layer_norm_epsilon", 1e-12),
    say("attention.causal", false),
    need("max_position_embeddings", nullptr, kContext, ModelMost::kContext),
    must_be("hidden_act", "gelu")};
inline constexpr HfKey kAbsoluteKeys[] = {must_be("position_embedding_type", "absolute")};
// Keys of all encoders, which need no head to give vectors.
inline constexpr HfKey kEncoderKeys[] = {
    say(nullptr, 1, kTied), must_be("is_decoder", false),
    must_lack("quantization_config", "it supports encoders without it")};

inline constexpr HfTensor kEmbeddingTensors[] = {
    of_model("embeddings.word_embeddings", "token_embd"),
    of_model("embeddings.position_embeddings", "position_embd", kNone, kNone, HfKind::kPositions),
    of_model("embeddings.token_type_embeddings", "token_types"),
    of_model("embeddings.LayerNorm", "token_embd_norm")};

inline constexpr HfTensor kBertTensors[] = {
    in_layer("attention.self.query", "attn_q"),
    in_layer("attention.self.key", "attn_k"),
    in_layer("attention.self.value", "attn_v"),
    in_layer("attention.output.dense", "attn_output"),
    in_layer("attention.output.LayerNorm", "attn_output_norm"),
    in_layer("intermediate.dense", "ffn_up"),
    in_layer("output.dense", "ffn_down"),
    in_layer("output.LayerNorm", "layer_output_norm")};

// Tensors that are ignored: poolers and heads of pre-training, and the stored ids 0, 1, 2, ... of
// positions and types.
inline constexpr HfLeftOut kHeadsLeftOut = {
    {"pooler.", "cls.", "lm_head.", "embeddings.position_ids", "embeddings.token_type_ids"},
    "of a pooler or of a head for pre-training are ignored: embeddings do not need them"};

// Heads of rerankers: BERT's pooler and classifier, and RoBERTa's two matrices.
inline constexpr HfTensor kBertScoreTensors[] = {of_model("pooler.dense", "cls"),
                                                 at_top("classifier", "cls.output")};
inline constexpr HfTensor kRobertaScoreTensors[] = {at_top("classifier.dense", "cls"),
                                                    at_top("classifier.out_proj", "cls.output")};
inline constexpr HfLeftOut kNumbersLeftOut = {
    {"embeddings.position_ids", "embeddings.token_type_ids"}, "of numbers are ignored"};

}  // namespace hearth::hf
