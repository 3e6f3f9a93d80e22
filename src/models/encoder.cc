#include "models/encoder.h"

#include "base/error.h"
#include "tensor/pack_spec.h"

namespace hearth {

namespace {

// Gate above up in one tensor, as jina-bert-v2's published weights have them; ffn_up.bias alike.
void describe_gate_and_up(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer) {
  const HyperParameters& hyper = spec.hyper();
  auto l = static_cast<int>(layer);
  const std::string name = layer_tensor(layer, "ffn_up");
  auto part = [&](WeightRole matrix, WeightRole bias, uint32_t first) {
    spec.matrix_part(matrix, l, name + ".weight", hyper.ffn, hyper.width, axes.ffn, 1, first,
                     2 * hyper.ffn);
    if (spec.source().find_tensor(name + ".bias") == nullptr) return;
    spec.vector_part(bias, l, name + ".bias", hyper.ffn, first, {2 * hyper.ffn, 1});
  };
  part(WeightRole::kGate, WeightRole::kGateBias, 0);
  part(WeightRole::kUp, WeightRole::kUpBias, hyper.ffn);
}

}  // namespace

void describe_layer_norm(SpecBuilder& spec, WeightRole norm, int layer, const std::string& name) {
  spec.vector(norm, layer, name + ".weight", spec.hyper().width);
  spec.vector_if_there(bias_of(norm), layer, name + ".bias", spec.hyper().width);
}

TransformerAxes describe_encoder_start(SpecBuilder& spec) {
  const HyperParameters& hyper = spec.hyper();
  if (hyper.pooling == PoolingType::kRank || spec.source().find_tensor("cls.weight") != nullptr) {
    fail(ErrorCode::kUnsupported,
         "'{}' is a reranker, which scores pairs of texts: this version runs encoders that give "
         "vectors",
         spec.source().name());
  }
  spec.norm() = {NormKind::kLayer, NormPlace::kAfterResidual};
  TransformerAxes axes = add_transformer_axes(spec);
  spec.matrix(WeightRole::kEmbedding, -1, "token_embd.weight", hyper.vocabulary, hyper.width,
              WeightCut::kRows, axes.vocabulary, 1);
  if (hyper.token_types > 0) {
    spec.vector_part(WeightRole::kTokenType, -1, "token_types.weight", hyper.width, 0,
                     {hyper.width, hyper.token_types});
  }
  if (hyper.positions == PositionKind::kTable) {
    AxisId positions =
        spec.axis({.name = "positions", .items = hyper.context, .unit_items = kPanelRows});
    spec.matrix(WeightRole::kPositions, -1, "position_embd.weight", hyper.context, hyper.width,
                WeightCut::kRows, positions, 1);
  }
  describe_layer_norm(spec, WeightRole::kEmbeddingNorm, -1, "token_embd_norm");
  return axes;
}

void describe_encoder_attention(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer) {
  describe_attention(spec, axes, layer);
  describe_layer_norm(spec, WeightRole::kAttentionNorm, static_cast<int>(layer),
                      layer_tensor(layer, "attn_output_norm"));
  spec.layer(layer_of(spec.hyper()));
}

void describe_encoder_ffn(SpecBuilder& spec, const TransformerAxes& axes, uint32_t layer,
                          bool gated) {
  const HyperParameters& hyper = spec.hyper();
  auto l = static_cast<int>(layer);
  auto rows = [&](WeightRole matrix, WeightRole bias, const char* name) {
    const std::string base = layer_tensor(layer, name);
    spec.matrix(matrix, l, base + ".weight", hyper.ffn, hyper.width, WeightCut::kRows, axes.ffn, 1);
    spec.vector_if_there(bias, l, base + ".bias", hyper.ffn);
  };
  const bool gate = spec.source().find_tensor(layer_tensor(layer, "ffn_gate.weight")) != nullptr;
  if (gated && !gate) {
    describe_gate_and_up(spec, axes, layer);
  } else {
    if (gated) rows(WeightRole::kGate, WeightRole::kGateBias, "ffn_gate");
    rows(WeightRole::kUp, WeightRole::kUpBias, "ffn_up");
  }
  spec.matrix(WeightRole::kDown, l, layer_tensor(layer, "ffn_down.weight"), hyper.width, hyper.ffn,
              WeightCut::kColumns, axes.ffn, 1);
  spec.vector_if_there(WeightRole::kDownBias, l, layer_tensor(layer, "ffn_down.bias"), hyper.width);
  describe_layer_norm(spec, WeightRole::kFfnNorm, l, layer_tensor(layer, "layer_output_norm"));
}

void build_encoder(Layers& layers) {
  Reduced state = layers.embed(-1, WeightRole::kEmbeddingNorm);
  for (uint32_t layer = 0; layer < layers.count(); ++layer) {
    auto l = static_cast<int>(layer);
    RowSet rows = layer + 1 == layers.count() ? RowSet::kOutputs : RowSet::kTokens;
    Partials attended = layers.attention(layer, state.normed);
    state = layers.reduce(state.x, attended, l, WeightRole::kAttentionNorm);
    Partials fed = layers.ffn(layer, state.normed);
    state = layers.reduce(state.x, fed, l, WeightRole::kFfnNorm, rows);
  }
}

}  // namespace hearth
