#include "models/layer_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {
namespace {

std::string rope_text(const RopeParams& rope) {
  std::string text = fmt::format(", RoPE {:g}", rope.freq_base);
  if (rope.scaling != RopeScaling::kNone) {
    const bool yarn = rope.scaling == RopeScaling::kYarn;
    text += fmt::format(" {} {:g}", yarn ? "yarn" : "linear", rope.factor);
  }
  return text;
}

class BodyText {
 public:
  explicit BodyText(const ModelSpec& spec) : spec_(spec) {}

  std::string operator()(const AttentionBlock& of) const {
    std::string text =
        fmt::format("attention: {} heads on {} of {}", of.heads, of.kv_heads, of.key_length);
    if (of.value_length != of.key_length) text += fmt::format(" and {}", of.value_length);
    if (of.norms)
      text += of.norms->span == HeadNormSpan::kHead ? ", norms of heads" : ", norms of rows";
    if (of.rope) text += rope_text(*of.rope);
    if (of.max_alibi > 0) text += ", ALiBi";
    if (of.sinks) text += ", sinks";
    if (of.window > 0) text += fmt::format(", window {}", of.window);
    if (of.gated) text += ", gated";
    if (of.keys_of) text += fmt::format(", keys and values of layer {}", *of.keys_of);
    if (of.has_values_of_keys()) text += ", keys as values";
    return of.mask == Mask::kBidirectional ? text + ", of the whole text" : text;
  }
  std::string operator()(const LatentBlock& of) const {
    return fmt::format("latent attention: {} heads of {} and {}, latents of {} + {}", of.heads,
                       of.key_length, of.value_length, of.kv_lora_rank, of.rope.n_rot) +
           rope_text(of.rope);
  }
  std::string operator()(const DeltaBlock& of) const {
    return fmt::format("gated delta rule: {} heads on {} of {}, convolution of {}",
                       of.heads.values(), of.heads.keys, of.length, of.taps);
  }
  std::string operator()(const ShortConvBlock& of) const {
    return fmt::format("short convolution of {}, gated", of.taps);
  }
  std::string operator()(const FeedForwardBlock& of) const {
    constexpr const char* kNames[] = {"SiLU", "GELU", "GELU by tanh", "SwiGLU with limits"};
    return fmt::format("feed-forward: {}, {}{}", spec_.weight(of.up.weight).rows,
                       kNames[static_cast<size_t>(of.activation)], of.gate.weight ? " gated" : "");
  }
  std::string operator()(const ExpertsBlock& of) const {
    const uint32_t rows = spec_.weight(of.experts[0].up).rows;
    std::string text =
        fmt::format("experts: {} of {}, {} each", of.rule.used, of.rule.experts, rows);
    if (of.activation == Activation::kClampedSwiglu) text += ", SwiGLU with limits";
    if (of.shared) text += fmt::format(", {} shared", spec_.weight(of.shared->up).rows);
    if (of.shared_gate) text += " by a gate";
    return text;
  }
  std::string operator()(const PerLayerBlock& of) const {
    return fmt::format("of each token: {}, by a gate", spec_.weight(of.gate).rows);
  }

 private:
  const ModelSpec& spec_;
};

}  // namespace

std::string block_text(const ModelSpec& spec, const Block& block) {
  std::string text = std::visit(BodyText(spec), block.body);
  const BlockNorms& norms = block.norms;
  if (block.held) text += ", beside the next";
  if (norms.before && norms.behind) return text + "; norms before and behind";
  if (norms.before) return text + "; norm before";
  if (norms.inner) return text + "; norms after, of the result and of the sum";
  if (norms.behind) return text + "; norm behind";
  return norms.after ? text + "; norm after" : text;
}

std::vector<LayerKind> layer_kinds(const ModelSpec& spec) {
  std::vector<LayerKind> kinds;
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    std::vector<std::string> blocks;
    for (const Block& block : spec.layers[layer].blocks) blocks.push_back(block_text(spec, block));
    auto known = std::ranges::find(kinds, blocks, &LayerKind::blocks);
    if (known == kinds.end()) known = kinds.insert(known, {{}, std::move(blocks)});
    known->layers.push_back(layer);
  }
  return kinds;
}

}  // namespace hearth
