// Ministral 3 (Mistral AI 2025): Llama with YaRN, and with queries that grow with the position
// beyond the context that the model was first trained for.
#include <cmath>

#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

// Divides YaRN's factor on sines and cosines by 1 + growth * yarn_log_multiplier * ln(factor), as
// the key mscale_all_dim demands.
void read_growth(const ModelKeys& keys, RopeParams* rope) {
  if (rope->scaling != RopeScaling::kYarn) return;
  const double all = keys.non_negative_or("rope.scaling.yarn_log_multiplier", 0);
  if (all == 0 || rope->factor <= 1 || rope->yarn_ext_factor == 0) return;
  rope->yarn_attn_factor /= 1 + rope->yarn_growth * all * std::log(rope->factor);
}

QueryTemperature read_temperature(SpecBuilder& m, uint32_t layer) {
  QueryTemperature of;
  of.growth = static_cast<float>(m.keys(layer).non_negative_or("attention.temperature_scale", 0));
  if (of.growth != 0) of.span = original_context(m, layer);
  return of;
}

}  // namespace

void describe_mistral3(SpecBuilder& m) {
  make_decoder(m, [&](uint32_t layer) {
    AttentionBlock attention = make_attention(m, layer, {.rope = RopeLayout::kInterleaved});
    read_growth(m.keys(layer), &*attention.rope);
    attention.temperature = read_temperature(m, layer);
    m.layer({attention,
             make_swiglu_or_experts(m, layer, {.gating = Gating::kSoftmax, .norm_topk = true}),
             kNormBefore});
  });
}

}  // namespace hearth
