#include "graph/ops/per_layer.h"
#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

constexpr const char* kLength = "embedding_length_per_layer_input";

}  // namespace

void make_per_layer_inputs(SpecBuilder& m) {
  if (m.keys().number_or(kLength, 0) == 0) return;
  PerLayerInputs of;
  of.length = m.keys().count(kLength, kMaxPerLayer);
  const uint64_t all = uint64_t{m.hyper().layers} * of.length;
  if (all > kMaxPerLayerRow) {
    m.keys().refuse(kLength, of.length,
                    fmt::format("at most {} for {} layers", kMaxPerLayerRow / m.hyper().layers,
                                m.hyper().layers));
  }
  const auto rows = static_cast<uint32_t>(all);
  of.projection = m.replicated(-1, {.member = "per-layer projection",
                                    .name = "per_layer_model_proj.weight",
                                    .rows = rows,
                                    .k = m.hyper().width});
  of.norm = m.norm(-1, NormKind::kRms, "per-layer norm", "per_layer_proj_norm", of.length);
  of.table = &m.table_in_file("per_layer_token_embd.weight", rows, m.hyper().vocabulary);
  m.embedding().per_layer = of;
}

PerLayerBlock make_per_layer(SpecBuilder& m, uint32_t layer) {
  const uint32_t length = m.embedding().per_layer->length, width = m.hyper().width;
  const auto l = static_cast<int>(layer);
  const AxisId axis = m.axis({.name = "per_layer", .items = length, .unit_items = kBlock});
  return {.gate = m.matrix(l, {.member = "per-layer gate",
                               .name = layer_tensor(layer, "inp_gate.weight"),
                               .rows = length,
                               .k = width,
                               .axis = axis}),
          .output = m.matrix(l, {.member = "per-layer output",
                                 .name = layer_tensor(layer, "proj.weight"),
                                 .rows = width,
                                 .k = length,
                                 .cut = WeightCut::kColumns,
                                 .axis = axis})};
}

}  // namespace hearth
