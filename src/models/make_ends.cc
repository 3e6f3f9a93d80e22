#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// A row for every token.
WeightId make_table(SpecBuilder& m, const char* member, const char* name) {
  const uint32_t tokens = m.hyper().vocabulary;
  const AxisId axis = m.axis({.name = "vocabulary", .items = tokens, .unit_items = kPanelRows});
  m.set_vocabulary_axis(axis);
  return m.matrix(
      -1, {.member = member, .name = name, .rows = tokens, .k = m.hyper().width, .axis = axis});
}

}  // namespace

void make_token_table(SpecBuilder& m) {
  m.embedding().token = make_table(m, "embedding", "token_embd.weight");
}

void make_decoder(SpecBuilder& m, const std::function<void(uint32_t layer)>& make_layer) {
  make_token_table(m);
  constexpr const char* kHead = "output.weight";
  const WeightId head = m.has(kHead) ? make_table(m, "head", kHead) : m.embedding().token;
  for (uint32_t layer = 0; layer < m.hyper().layers; ++layer) make_layer(layer);
  m.set_last_norm(m.norm(-1, NormKind::kRms, "norm", "output_norm", m.hyper().width));
  m.set_head(head);
}

}  // namespace hearth
