// Gemma 4, its text: as Gemma 3 scaled embeddings, RMS norms on both sides of every block and of
// query and key heads, GEGLU by tanh; and beside that values with a norm that has no weight, scores
// without a scale, a number that each layer's result is multiplied by, and logits with a soft cap.
// The file says which layers see a window; these have lengths of heads and a RoPE of their own.
// Layers without attn_v take keys before their norm for values. The last few may have no keys and
// values, and read those of the last layer of their kind before them. Experts stand beside a dense
// layer that reads the same stream; what both give is normed apart, added, and normed again. E2B
// and E4B have something of every token for each layer, which joins the stream behind the others.
#include <cmath>

#include "models/architectures.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

// Of six layers the last has no window, where the file does not say which have one.
constexpr uint32_t kWindowedLayers = 6;

// Where the file says nothing, as llama.cpp has it and all released models say.
constexpr double kLogitCap = 30;

bool is_windowed(SpecBuilder& m, uint32_t layer) {
  return window_of(m, layer, kWindowedLayers) == Window::kLocal;
}

// The layer whose keys and values this one reads, if it has none.
std::optional<uint32_t> layer_of_keys(SpecBuilder& m, uint32_t layer) {
  constexpr const char* kKey = "attention.shared_kv_layers";
  const uint32_t layers = m.hyper().layers, shared = m.keys().number_or(kKey, 0);
  if (shared >= layers) {
    m.keys().refuse(kKey, shared, fmt::format("less than the {} layers", layers));
  }
  const uint32_t first = layers - shared;
  if (layer < first) return {};
  for (uint32_t other = first; other > 0; --other) {
    if (is_windowed(m, other - 1) == is_windowed(m, layer)) return other - 1;
  }
  fail(ErrorCode::kFile,
       "'{}' says {}{} = {}, but layer {} has {} window, and no layer before these {} is so: the "
       "file is damaged or made for another program",
       m.source().name(), m.keys().prefix(), kKey, shared, layer,
       is_windowed(m, layer) ? "a" : "no", shared);
}

AttentionBlock make_gemma_attention(SpecBuilder& m, uint32_t layer) {
  m.keys(layer).count("attention.sliding_window", ModelMost::kContext);
  return make_attention(m, layer,
                        {.rope = RopeLayout::kHalf,
                         .norms = QkNorms::kHeads,
                         .window = window_of(m, layer, kWindowedLayers),
                         .score_length = 1,
                         .value_norms = true,
                         .values_may_be_keys = true,
                         .keys_of = layer_of_keys(m, layer)});
}

// Whose router reads the norm of the stream, divided by the root of the width.
ExpertsBlock make_gemma_experts(SpecBuilder& m, uint32_t layer) {
  ExpertsBlock experts =
      make_experts(m, layer, {.gating = Gating::kSoftmax, .normalised = true},
                   {.activation = Activation::kGeluTanh, .router_norm = true, .scales = true});
  experts.rule.logit_scale = 1 / std::sqrt(static_cast<float>(m.hyper().width));
  return experts;
}

Layer make_gemma_layer(SpecBuilder& m, uint32_t layer) {
  constexpr NormKind kRms = NormKind::kRms;
  Layer made;
  made.blocks.push_back(m.joined(make_gemma_attention(m, layer), kRms,
                                 {.before = "attn_norm", .behind = "post_attention_norm"}));
  const bool beside = m.keys().number_or("expert_count", 0) > 0 &&
                      m.has(layer_tensor(layer, "ffn_gate_inp.weight"));
  made.blocks.push_back(
      m.joined(make_feed_forward(m, layer, Gated::kYes, Activation::kGeluTanh), kRms,
               {.before = "ffn_norm", .behind = beside ? "post_ffw_norm_1" : "post_ffw_norm"}));
  if (beside) {
    made.blocks.back().held = true;
    made.blocks.push_back(m.joined(
        make_gemma_experts(m, layer), kRms,
        {.before = "pre_ffw_norm_2", .behind = "post_ffw_norm_2", .outer = "post_ffw_norm"}));
  }
  if (m.embedding().per_layer) {
    made.blocks.push_back(
        m.joined(make_per_layer(m, layer), kRms, {.before = nullptr, .behind = "post_norm"}));
  }
  made.blocks.back().norms.scale = m.vector_where_there(
      static_cast<int>(layer), "scale", layer_tensor(layer, "layer_output_scale.weight"), 1);
  return made;
}

}  // namespace

void describe_gemma4(SpecBuilder& m) {
  m.embedding().scale = std::sqrt(static_cast<float>(m.hyper().width));
  m.set_logit_cap(
      static_cast<float>(m.keys().non_negative_or("final_logit_softcapping", kLogitCap)));
  make_per_layer_inputs(m);
  make_decoder(m, [&](uint32_t layer) { m.append(make_gemma_layer(m, layer)); });
}

}  // namespace hearth
