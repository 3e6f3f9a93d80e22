#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {

bool has_short_conv(SpecBuilder& m, uint32_t layer) {
  constexpr const char* kKey = "attention.head_count_kv";
  auto is_conv = [&](uint32_t i) { return m.keys(i).number_or(kKey, 1) == 0; };
  bool any = layer > 0;  // checked once, at the first layer
  for (uint32_t i = 0; i < m.hyper().layers && !any; ++i) any = !is_conv(i);
  if (!any) {
    fail(ErrorCode::kUnsupported,
         "'{}' has {} layers, none with attention ({}{}): this version does not support it",
         m.source().name(), m.hyper().layers, m.keys().prefix(), kKey);
  }
  return is_conv(layer);
}

ShortConvBlock make_short_conv(SpecBuilder& m, uint32_t layer) {
  refuse_not_causal(m);
  ShortConvBlock block;
  block.taps = m.keys(layer).count("shortconv.l_cache", kMaxConvTaps);
  const uint32_t width = m.hyper().width;
  const auto l = static_cast<int>(layer);
  const AxisId axis = m.axis({.name = "conv_channels", .items = width, .unit_items = kBlock});
  auto rows = [&](const char* member, uint32_t part) {
    return m.matrix(l, {.member = member,
                        .name = layer_tensor(layer, "shortconv.in_proj.weight"),
                        .rows = width,
                        .k = width,
                        .axis = axis,
                        .first = part * width,
                        .all_rows = 3 * width});
  };
  block.before = rows("b", 0);
  block.after = rows("c", 1);
  block.input = rows("x", 2);
  block.conv =
      m.table(l, "convolution", layer_tensor(layer, "shortconv.conv.weight"), width, block.taps);
  block.output = m.matrix(l, {.member = "o",
                              .name = layer_tensor(layer, "shortconv.out_proj.weight"),
                              .rows = width,
                              .k = width,
                              .cut = WeightCut::kColumns,
                              .axis = axis});
  return block;
}

}  // namespace hearth
