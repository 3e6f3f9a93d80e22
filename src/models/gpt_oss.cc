// gpt-oss (OpenAI 2025, arXiv 2508.10925). Attention has grouped queries with biases and a sink for
// each head; every second layer, from the first on, sees a window. Every layer has experts with
// biases: the router's logits choose them, and the softmax of the chosen logits weights them.
// SwiGLU has limits.
#include "kernels/activation/activation.h"
#include "models/architectures.h"
#include "models/decoder_rows.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

constexpr uint32_t kWindowPeriod = 2;

}  // namespace

void describe_gpt_oss(SpecBuilder& m) {
  const Residual residual{
      NormKind::kRms, {.before = "attn_norm"}, {.before = "post_attention_norm"}};
  make_decoder(m, [&](uint32_t layer) {
    m.keys(layer).count("attention.sliding_window", ModelMost::kContext);
    // Layers with and without a window have the same RoPE.
    const bool windowed = window_of(m, layer, kWindowPeriod) != Window::kNone;
    m.layer({make_attention(m, layer,
                            {.rope = RopeLayout::kHalf,
                             .window = windowed ? Window::kAsAll : Window::kNone,
                             .sinks = true}),
             make_experts(m, layer, {.gating = Gating::kSoftmaxOfChosen},
                          {.activation = Activation::kClampedSwiglu, .biases = true}),
             residual});
  });
}

// The folders of this architecture. Keys that config.json lacks have the defaults of transformers'
// GptOssConfig.

namespace {

constexpr HfKey kGptOssKeys[] = {
    hf::must_be("swiglu_limit", double{kSwigluLimit}),
    hf::count_or("num_key_value_heads", "attention.head_count_kv", hf::kKvHeads, ModelMost::kHeads,
                 8u),
    hf::count_or("head_dim", "attention.key_length", hf::kHeadLength, ModelMost::kLength, 64u),
    hf::say("attention.value_length", hf::kHeadLength),
    hf::flag("attention_bias", nullptr, hf::kBias, true)};

constexpr HfKey kGptOssExpertKeys[] = {
    hf::say("expert_feed_forward_length", hf::kFfn),
    hf::say("expert_gating_func", GgufGating::kSoftmaxOfChosen, hf::kGating)};

constexpr HfTensor all_experts(std::string_view from, std::string_view to, HfKind kind,
                               HfValue rows, HfValue columns = hf::kNone) {
  return {HfScope::kLayer, kind, from, to, rows, columns};
}
constexpr HfTensor kGptOssTensors[] = {
    hf::vector("input_layernorm", "attn_norm", hf::kWidth),
    hf::vector("post_attention_layernorm", "post_attention_norm", hf::kWidth),
    {HfScope::kLayer, HfKind::kWhole, "self_attn.sinks", "attn_sinks.weight", hf::kHeads},
    {HfScope::kLayer, HfKind::kPlain, "mlp.router", "ffn_gate_inp", hf::kExperts, hf::kWidth, false,
     hf::kOne},
    all_experts("mlp.experts.gate_up_proj", "ffn_up_exps.weight", HfKind::kExpertPairs, hf::kFfn,
                hf::kWidth),
    all_experts("mlp.experts.gate_up_proj_bias", "ffn_up_exps.bias", HfKind::kExpertPairs,
                hf::kFfn),
    all_experts("mlp.experts.down_proj", "ffn_down_exps.weight", HfKind::kExpertStack, hf::kWidth,
                hf::kFfn),
    all_experts("mlp.experts.down_proj_bias", "ffn_down_exps.bias", HfKind::kExpertStack,
                hf::kWidth)};

}  // namespace

constinit const HfFamily kGptOssFolder = {
    .names = {"GptOssForCausalLM"},
    .gguf = "gpt-oss",
    .keys = {hf::kDecoderKeys5, kGptOssKeys, hf::kOutputBiasKeys},
    .rope = {.base = 150000},
    .windows = {.kind = HfWindows::Kind::kSome, .length = 128, .period = kWindowPeriod},
    .more_keys = {hf::kLocalExpertKeys, hf::kEveryLayerKeys, kGptOssExpertKeys},
    .tensors = {hf::kModelTensors, kGptOssTensors, hf::kGroupedTensors},
};

}  // namespace hearth
