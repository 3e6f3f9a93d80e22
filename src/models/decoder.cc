#include "models/decoder.h"

#include "models/axis_cutting.h"
#include "tensor/pack_spec.h"

namespace hearth {

TransformerAxes add_transformer_axes(SpecBuilder& spec) {
  const HyperParameters& hyper = spec.hyper();
  TransformerAxes axes{};
  if (hyper.latent_length > 0) {
    // Latents are all heads', so nothing but the blocks of their results binds heads together.
    axes.heads = spec.axis({.name = "heads",
                            .items = hyper.heads,
                            .unit_items = block_granule(1, hyper.value_length)});
    axes.kv_heads = axes.heads;
  } else {
    axes.kv_heads = spec.axis({.name = "kv_heads", .items = hyper.kv_heads});
    axes.heads = spec.axis({.name = "heads",
                            .items = hyper.heads,
                            .kv_axis = axes.kv_heads,
                            .item_columns = hyper.value_length});
  }
  axes.ffn = spec.axis({.name = "ffn", .items = hyper.ffn, .unit_items = kBlock});
  axes.vocabulary =
      spec.axis({.name = "vocabulary", .items = hyper.vocabulary, .unit_items = kPanelRows});
  spec.set_vocabulary_axis(axes.vocabulary);
  const ExpertParameters& experts = hyper.experts;
  if (experts.count == 0) return axes;
  axes.expert_ffn = spec.axis({.name = "expert_ffn", .items = experts.ffn, .unit_items = kBlock});
  if (experts.shared_ffn == 0) return axes;
  axes.shared_ffn =
      spec.axis({.name = "shared_ffn", .items = experts.shared_ffn, .unit_items = kBlock});
  return axes;
}

LayerSpec layer_of(const HyperParameters& hyper) {
  LayerSpec layer;
  layer.heads = hyper.heads;
  layer.kv_heads = hyper.kv_heads;
  layer.key_length = hyper.key_length;
  layer.value_length = hyper.value_length;
  layer.window = hyper.window;
  layer.scale = hyper.attention_scale;
  layer.latent_length = hyper.latent_length;
  if (layer.latent_length > 0) layer.turned_length = hyper.rope.n_rot;
  if (!hyper.causal) {
    layer.mask = Mask::kBidirectional;
    layer.kept = KvKept::kForStep;
  }
  return layer;
}

void describe_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer) {
  const HyperParameters& hyper = spec.hyper();
  auto l = static_cast<int>(layer);
  const uint32_t queries = hyper.heads * hyper.key_length;
  const uint32_t keys = hyper.kv_heads * hyper.key_length;
  const uint32_t values = hyper.kv_heads * hyper.value_length;
  const uint32_t all = queries + keys + values;
  const std::string fused = layer_tensor(layer, "attn_qkv");
  const bool in_one = spec.source().find_tensor(fused + ".weight") != nullptr;
  auto projection = [&](WeightRole role, WeightRole bias, const char* name, uint32_t first,
                        uint32_t rows, AxisId axis, uint32_t length) {
    std::string base = in_one ? fused : layer_tensor(layer, name);
    if (!in_one) {
      spec.matrix(role, l, base + ".weight", rows, hyper.width, WeightCut::kRows, axis, length);
      spec.vector_if_there(bias, l, base + ".bias", rows);
      return;
    }
    spec.matrix_part(role, l, base + ".weight", rows, hyper.width, axis, length, first, all);
    if (spec.source().find_tensor(base + ".bias") != nullptr) {
      spec.vector_part(bias, l, base + ".bias", rows, first, {all, 1});
    }
  };
  projection(WeightRole::kQuery, WeightRole::kQueryBias, "attn_q", 0, queries, axes.heads,
             hyper.key_length);
  projection(WeightRole::kKey, WeightRole::kKeyBias, "attn_k", queries, keys, axes.kv_heads,
             hyper.key_length);
  projection(WeightRole::kValue, WeightRole::kValueBias, "attn_v", queries + keys, values,
             axes.kv_heads, hyper.value_length);
  spec.matrix(WeightRole::kAttentionOutput, l, layer_tensor(layer, "attn_output.weight"),
              hyper.width, hyper.heads * hyper.value_length, WeightCut::kColumns, axes.heads,
              hyper.value_length);
  spec.vector_if_there(WeightRole::kAttentionOutputBias, l, layer_tensor(layer, "attn_output.bias"),
                       hyper.width);
}

void describe_latent_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer) {
  const HyperParameters& hyper = spec.hyper();
  auto l = static_cast<int>(layer);
  auto name = [&](const char* of) { return layer_tensor(layer, of); };
  const uint32_t queries = hyper.heads * hyper.key_length, turned = hyper.rope.n_rot;
  auto query = [&](const char* of, uint32_t k) {
    spec.matrix(WeightRole::kQuery, l, name(of), queries, k, WeightCut::kRows, axes.heads,
                hyper.key_length);
  };
  if (hyper.query_rank > 0) {
    spec.replicated(WeightRole::kQueryDown, l, name("attn_q_a.weight"), hyper.query_rank,
                    hyper.width);
    spec.vector(WeightRole::kQueryDownNorm, l, name("attn_q_a_norm.weight"), hyper.query_rank);
    query("attn_q_b.weight", hyper.query_rank);
  } else {
    query("attn_q.weight", hyper.width);
  }
  spec.replicated(WeightRole::kLatentDown, l, name("attn_kv_a_mqa.weight"),
                  hyper.latent_length + turned, hyper.width);
  spec.vector(WeightRole::kLatentNorm, l, name("attn_kv_a_norm.weight"), hyper.latent_length);
  spec.stacked(WeightRole::kKeyUp, l, name("attn_k_b.weight"), hyper.latent_length,
               hyper.key_length - turned, axes.heads);
  spec.stacked(WeightRole::kValueUp, l, name("attn_v_b.weight"), hyper.value_length,
               hyper.latent_length, axes.heads);
  spec.matrix(WeightRole::kAttentionOutput, l, name("attn_output.weight"), hyper.width,
              hyper.heads * hyper.value_length, WeightCut::kColumns, axes.heads,
              hyper.value_length);
}

void describe_swiglu(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer) {
  const HyperParameters& hyper = spec.hyper();
  auto l = static_cast<int>(layer);
  spec.matrix(WeightRole::kGate, l, layer_tensor(layer, "ffn_gate.weight"), hyper.ffn, hyper.width,
              WeightCut::kRows, axes.ffn, 1);
  spec.matrix(WeightRole::kUp, l, layer_tensor(layer, "ffn_up.weight"), hyper.ffn, hyper.width,
              WeightCut::kRows, axes.ffn, 1);
  spec.matrix(WeightRole::kDown, l, layer_tensor(layer, "ffn_down.weight"), hyper.width, hyper.ffn,
              WeightCut::kColumns, axes.ffn, 1);
}

void describe_experts(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer) {
  const HyperParameters& hyper = spec.hyper();
  const ExpertParameters& experts = hyper.experts;
  auto l = static_cast<int>(layer);
  auto name = [&](const char* of) { return layer_tensor(layer, of); };
  spec.replicated(WeightRole::kRouter, l, name("ffn_gate_inp.weight"), experts.count, hyper.width,
                  /*widened=*/true);
  spec.vector_if_there(WeightRole::kRouterBias, l, name("exp_probs_b.bias"), experts.count);
  const std::string fused = name("ffn_gate_up_exps.weight");
  const bool in_one = spec.source().find_tensor(fused) != nullptr;
  const uint32_t rows = in_one ? 2 * experts.ffn : experts.ffn;
  const uint32_t up_row = in_one ? experts.ffn : 0;
  spec.experts(l, axes.expert_ffn,
               {{WeightRole::kGate, in_one ? fused : name("ffn_gate_exps.weight"), experts.ffn,
                 hyper.width, WeightCut::kRows, 0, rows},
                {WeightRole::kUp, in_one ? fused : name("ffn_up_exps.weight"), experts.ffn,
                 hyper.width, WeightCut::kRows, up_row, rows},
                {WeightRole::kDown, name("ffn_down_exps.weight"), hyper.width, experts.ffn,
                 WeightCut::kColumns, 0, hyper.width}});
  if (experts.shared_ffn == 0) return;
  spec.matrix(WeightRole::kSharedGate, l, name("ffn_gate_shexp.weight"), experts.shared_ffn,
              hyper.width, WeightCut::kRows, axes.shared_ffn, 1);
  spec.matrix(WeightRole::kSharedUp, l, name("ffn_up_shexp.weight"), experts.shared_ffn,
              hyper.width, WeightCut::kRows, axes.shared_ffn, 1);
  spec.matrix(WeightRole::kSharedDown, l, name("ffn_down_shexp.weight"), hyper.width,
              experts.shared_ffn, WeightCut::kColumns, axes.shared_ffn, 1);
}

void describe_vocabulary(SpecBuilder& spec, const TransformerAxes& axes) {
  const HyperParameters& hyper = spec.hyper();
  auto table = [&](WeightRole role, const char* name) {
    spec.matrix(role, -1, name, hyper.vocabulary, hyper.width, WeightCut::kRows, axes.vocabulary,
                1);
  };
  table(WeightRole::kEmbedding, "token_embd.weight");
  if (spec.source().find_tensor("output.weight")) table(WeightRole::kHead, "output.weight");
}

void describe_decoder(SpecBuilder& spec, HeadNorms head_norms, const char* ffn_norm) {
  const HyperParameters& hyper = spec.hyper();
  TransformerAxes axes = add_transformer_axes(spec);
  describe_vocabulary(spec, axes);
  for (uint32_t layer = 0; layer < hyper.layers; ++layer) {
    auto norm = [&](WeightRole role, const char* name, uint32_t size) {
      spec.vector(role, static_cast<int>(layer), layer_tensor(layer, name), size);
    };
    norm(WeightRole::kAttentionNorm, "attn_norm.weight", hyper.width);
    if (hyper.latent_length > 0) {
      describe_latent_attention(spec, axes, layer);
    } else {
      describe_attention(spec, axes, layer);
    }
    const bool there =
        spec.source().find_tensor(layer_tensor(layer, "attn_q_norm.weight")) != nullptr;
    if (head_norms == HeadNorms::kAll || (head_norms == HeadNorms::kWhereThere && there)) {
      norm(WeightRole::kQueryNorm, "attn_q_norm.weight", hyper.key_length);
      norm(WeightRole::kKeyNorm, "attn_k_norm.weight", hyper.key_length);
    }
    norm(WeightRole::kFfnNorm, ffn_norm, hyper.width);
    if (hyper.experts.in_layer(layer)) {
      describe_experts(spec, axes, layer);
    } else {
      describe_swiglu(spec, axes, layer);
    }
    spec.layer(layer_of(hyper));
  }
  spec.vector(WeightRole::kFinalNorm, -1, "output_norm.weight", hyper.width);
}

void build_decoder(Layers& layers) {
  auto [x, normed] = layers.embed(0, WeightRole::kAttentionNorm);
  auto count = static_cast<int>(layers.count());
  for (int layer = 0; layer < count; ++layer) {
    auto l = static_cast<uint32_t>(layer);
    bool last = layer + 1 == count;
    Partials attended = layers.attention(l, normed);
    Reduced middle = layers.reduce(x, attended, layer, WeightRole::kFfnNorm);
    const bool chooses = layers.spec().hyper.experts.in_layer(l);
    Partials fed = chooses ? layers.experts(l, middle.normed) : layers.ffn(l, middle.normed);
    Reduced end = last ? layers.reduce(middle.x, fed, -1, WeightRole::kFinalNorm, RowSet::kOutputs)
                       : layers.reduce(middle.x, fed, layer + 1, WeightRole::kAttentionNorm);
    x = end.x;
    normed = end.normed;
  }
  if (!layers.spec().is_encoder()) layers.logits(normed);
}

}  // namespace hearth
