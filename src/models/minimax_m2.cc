// MiniMax-M2 and its successors (MiniMax 2025): grouped queries, an RMS norm of all query heads of
// a row together and one of all key heads, RoPE over half of a head, and experts in every layer,
// chosen by sigmoid with a bias.
#include <algorithm>

#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_minimax_m2(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    m.layer({make_attention(m, layer, {.rope = RopeLayout::kHalf, .norms = QkNorms::kRows}),
             make_experts(m, layer, {.gating = Gating::kSigmoid, .norm_topk = true}), kNormBefore});
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr HfKey kRotaryDimKey[] = {
    hf::count("rotary_dim", nullptr, hf::kRopeLength, ModelMost::kLength)};
constexpr HfKey kMinimaxKeys[] = {
    hf::must_be("use_qk_norm", true),
    hf::say(nullptr, 0u, hf::kHeadNorms),  // norms are not of single heads
    hf::with_known("it supports per_layer", hf::must_be("qk_norm_type", "per_layer")),
    hf::must_count("shared_intermediate_size", 0, "it supports no shared experts"),
    hf::say("expert_feed_forward_length", hf::kFfn),
    hf::choice("scoring_func", "expert_gating_func", hf::kGating, hf::kGatings, "sigmoid"),
    hf::say("expert_weights_norm", true)};

constexpr HfTensor kMinimaxTensors[] = {
    hf::vector("self_attn.q_norm", "attn_q_norm", hf::kQueryRows),
    hf::vector("self_attn.k_norm", "attn_k_norm", hf::kKeyRows),
    hf::routing_bias("block_sparse_moe.e_score_correction_bias")};

// Refuses models with linear attention in some layers, such as MiniMax-Text-01: attn_type_list must
// be 1 for every layer.
void read_minimax(const HfReading& reading) {
  const boost::json::value* kinds = reading.config.find("attn_type_list");
  if (kinds == nullptr || kinds->is_null()) return;
  const bool run = kinds->is_array() &&
                   std::ranges::all_of(kinds->get_array(), [](auto& kind) { return kind == 1; });
  if (!run) reading.config.fail_unsupported("attn_type_list", "it supports 1 in every layer");
}

}  // namespace

constinit const HfFamily kMinimaxM2Folder = {
    .names = {"MiniMaxM2ForCausalLM"},
    .gguf = "minimax-m2",
    .keys = {hf::kDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, kRotaryDimKey},
    .rope = {.base = 5e6, .part_said = true, .part = 0.5},
    .more_keys = {hf::kLocalExpertKeys, hf::kEveryLayerKeys, kMinimaxKeys},
    .read = read_minimax,
    .reads = {"attn_type_list"},
    .tensors = {hf::kModelTensors, hf::kNormTensors, hf::kGroupedTensors, kMinimaxTensors,
                hf::kBlockSparseTensors},
};

}  // namespace hearth
