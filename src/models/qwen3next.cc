// Qwen3-Next (Qwen3-Next-80B-A3B, Qwen3-Coder-Next): Qwen3.5 with experts, with another order of
// value heads in files.
#include "models/architectures.h"
#include "models/hybrid_rows.h"
#include "models/make_blocks.h"

namespace hearth {

void describe_qwen3next(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    append_hybrid_layer(m, layer, DeltaFiles::kBesideEachOther, [&]() -> SpecBuilder::Body {
      return make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .norm_topk = true},
                                    {.shared_gate = true});
    });
  });
}

// The Hugging Face folders of this architecture.

namespace {

constexpr HfTensor kJoinedTensors[] = {
    hf::recurrent(hf::matrix("linear_attn.in_proj_qkvz", "attn_qkv", hf::kDeltaJoinedRows,
                             hf::kWidth, hf::kNone, HfKind::kDeltaJoined)),
    hf::recurrent(hf::matrix("linear_attn.in_proj_ba", "ssm_ba", hf::kDeltaGateRows, hf::kWidth))};

}  // namespace

constinit const HfFamily kQwen3NextFolder = {
    .names = {"Qwen3NextForCausalLM"},
    .gguf = "qwen3next",
    .keys = {hf::kExpertDecoderKeys, hf::kGroupedKeys, hf::kOutputBiasKeys, hf::kDeltaKeysOfConfig},
    .rope = hf::kHybridRope,
    .windows = {.kind = HfWindows::Kind::kOwn},
    .more_keys = {hf::kEveryLayerKeys, hf::kSharedGateKeys},
    .read = read_hybrid_layers,
    .tensors = {hf::kModelTensors, hf::kHybridTensors, hf::kDeltaTensors, kJoinedTensors,
                hf::kSharedGateTensors, hf::kSingleExperts},
    .left_out = {hf::kFurtherTokens},
    .norms_plus_one = true,
};

}  // namespace hearth
