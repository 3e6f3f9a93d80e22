#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// Refuses a model with experts, unless a caller has read their number and makes them.
void refuse_experts(const ModelKeys& keys) {
  constexpr const char* kKey = "expert_count";
  if (keys.was_read(kKey)) return;
  const uint32_t count = keys.number_or(kKey, 0);
  if (count == 0) return;
  fail(ErrorCode::kUnsupported,
       "'{}' is a mixture of {} experts, which this version does not support in its architecture",
       keys.source().name(), count);
}

}  // namespace

FeedForwardBlock make_feed_forward(SpecBuilder& m, uint32_t layer, Gated gated,
                                   Activation activation) {
  refuse_experts(m.keys());
  const uint32_t ffn = m.keys(layer).count("feed_forward_length", ModelMost::kFfn);
  const uint32_t width = m.hyper().width;
  const AxisId axis = m.axis({.name = "ffn", .items = ffn, .unit_items = kBlock});
  const auto l = static_cast<int>(layer);
  const bool apart = gated != Gated::kNo && m.has(layer_tensor(layer, "ffn_gate.weight"));
  // If ffn_up has twice the rows, it holds the gate's rows and then up's.
  const bool in_one =
      gated != Gated::kNo && !apart && m.rows_of(layer_tensor(layer, "ffn_up.weight")) != ffn;
  auto rows = [&](const char* member, const char* name, uint32_t first) {
    const MatrixPlace own{
        .member = member, .name = layer_tensor(layer, name), .rows = ffn, .k = width, .axis = axis};
    return m.linear(l, in_one ? own.within(layer_tensor(layer, "ffn_up"), first, 2 * ffn) : own);
  };
  FeedForwardBlock block{.activation = activation};
  if (gated == Gated::kYes || apart || in_one) block.gate = rows("gate", "ffn_gate", 0);
  block.up = rows("up", "ffn_up", ffn);
  block.down = m.linear(l, {.member = "down",
                            .name = layer_tensor(layer, "ffn_down"),
                            .rows = width,
                            .k = ffn,
                            .cut = WeightCut::kColumns,
                            .axis = axis});
  return block;
}

}  // namespace hearth
