// Rows that folders of Qwen's hybrids share (formats/hf_family.h): attention with gates in some
// layers, a gated delta rule in others.
#pragma once

#include "kernels/recurrent/short_conv.h"
#include "models/decoder_rows.h"

namespace hearth::hf {

// Returns `keys` without the one for the width of an FFN, which models with experts in every layer
// may lack.
constexpr auto without_ffn(auto keys) {
  for (HfKey& key : keys) {
    if (key.from == "intermediate_size") key.needed = false;
  }
  return keys;
}
inline constexpr auto kExpertDecoderKeys = without_ffn(decoder_keys(1e-6));

inline constexpr HfKey kDeltaKeysOfConfig[] = {
    must_be("attn_output_gate", true),
    need("linear_num_key_heads", "ssm.group_count", kDeltaKeys, ModelMost::kHeads),
    need("linear_num_value_heads", "ssm.time_step_rank", kDeltaValues, ModelMost::kHeads),
    need("linear_key_head_dim", "ssm.state_size", kDeltaLength, ModelMost::kLength),
    need("linear_conv_kernel_dim", "ssm.conv_kernel", kTaps, kMaxConvTaps),
    say("ssm.inner_size", kDeltaValueRows)};

inline constexpr HfKey kSharedGateKeys[] = {
    also_named("num_experts",
               need("num_local_experts", "expert_count", kExperts, ModelMost::kExperts)),
    need_up_to("num_experts_per_tok", "expert_used_count", kExperts),
    need("moe_intermediate_size", "expert_feed_forward_length", kExpertFfn, ModelMost::kFfn),
    need("shared_expert_intermediate_size", "expert_shared_feed_forward_length", kSharedWidth,
         ModelMost::kFfn),
    say("expert_gating_func", GgufGating::kSoftmax, kGating),
    flag("norm_topk_prob", "expert_weights_norm", kNone, true)};

constexpr HfTensor attending(HfTensor row) { return in_layers(HfLayers::kAttending, row); }
constexpr HfTensor recurrent(HfTensor row) { return in_layers(HfLayers::kRecurrent, row); }

inline constexpr HfTensor kHybridTensors[] = {
    vector("input_layernorm", "attn_norm", kWidth),
    vector("post_attention_layernorm", "post_attention_norm", kWidth),
    attending(
        matrix("self_attn.q_proj", "attn_q", kGatedQueryRows, kWidth, kBias, HfKind::kQueries)),
    attending(matrix("self_attn.k_proj", "attn_k", kKeyRows, kWidth, kBias, HfKind::kKeys)),
    attending(matrix("self_attn.v_proj", "attn_v", kKeyRows, kWidth, kBias)),
    attending(matrix("self_attn.o_proj", "attn_output", kWidth, kQueryRows, kOutputBias)),
    attending(vector("self_attn.q_norm", "attn_q_norm", kHeadLength)),
    attending(vector("self_attn.k_norm", "attn_k_norm", kHeadLength))};

// Tensors of the delta rule that have the same names in Qwen3-Next's folders and Qwen3.5's.
inline constexpr HfTensor kDeltaTensors[] = {
    recurrent({HfScope::kLayer, HfKind::kDeltaConv, "linear_attn.conv1d", "ssm_conv1d",
               kDeltaMixedRows, kTaps}),
    recurrent({HfScope::kLayer, HfKind::kDeltaDecay, "linear_attn.A_log", "ssm_a", kDeltaValues}),
    recurrent({HfScope::kLayer, HfKind::kDeltaVector, "linear_attn.dt_bias", "ssm_dt.bias",
               kDeltaValues}),
    recurrent(vector("linear_attn.norm", "ssm_norm", kDeltaLength)),
    recurrent(matrix("linear_attn.out_proj", "ssm_out", kWidth, kDeltaValueRows, kNone,
                     HfKind::kDeltaOutput))};

inline constexpr HfTensor kSharedGateTensors[] = {
    router("mlp.gate"),
    in_layers(HfLayers::kSparse,
              matrix("mlp.shared_expert.gate_proj", "ffn_gate_shexp", kSharedWidth, kWidth)),
    in_layers(HfLayers::kSparse,
              matrix("mlp.shared_expert.up_proj", "ffn_up_shexp", kSharedWidth, kWidth)),
    in_layers(HfLayers::kSparse,
              matrix("mlp.shared_expert.down_proj", "ffn_down_shexp", kWidth, kSharedWidth)),
    in_layers(HfLayers::kSparse,
              table("mlp.shared_expert_gate", "ffn_gate_inp_shexp", kOne, kWidth))};

// Rows for experts, as Qwen3.5 stores them (two stacked tensors a layer) and as Qwen3-Next does
// (one tensor for each expert). Folders of either family may have either form. `stacked` says which
// form gets shapes; a source with only config.json is assumed to have that form.
constexpr auto hybrid_experts(bool stacked) {
  auto rows = std::to_array<HfTensor>(
      {expert_matrices("mlp.experts.gate_up_proj", "ffn_gate_up_exps.weight", kTwoExpertFfns,
                       kWidth),
       expert_matrices("mlp.experts.down_proj", "ffn_down_exps.weight", kWidth, kExpertFfn),
       expert("mlp.experts.{}.gate_proj", "ffn_gate_exps", kExpertFfn, kWidth),
       expert("mlp.experts.{}.up_proj", "ffn_up_exps", kExpertFfn, kWidth),
       expert("mlp.experts.{}.down_proj", "ffn_down_exps", kWidth, kExpertFfn)});
  for (HfTensor& row : rows) {
    if ((row.kind == HfKind::kExpert) == stacked) row.rows = row.columns = kNone;
  }
  return rows;
}
inline constexpr auto kStackedExperts = hybrid_experts(true);
inline constexpr auto kSingleExperts = hybrid_experts(false);

inline constexpr HfRope kHybridRope = {.part_said = true, .part = 0.25};
inline constexpr HfLeftOut kFurtherTokens = {{"mtp."},
                                             "are for multi-token prediction and are ignored"};

}  // namespace hearth::hf
