#include <algorithm>
#include <numeric>

#include "models/make_blocks.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// The most elements that a block of any file type has.
constexpr uint32_t kWidestBlock = 256;

void read_delta_sizes(const ModelKeys& keys, DeltaFiles files, DeltaBlock* block) {
  DeltaHeads& heads = block->heads;
  block->length = keys.count("ssm.state_size", kMaxHeadDim);
  block->taps = keys.count("ssm.conv_kernel", kMaxConvTaps);
  heads.keys = keys.count("ssm.group_count", ModelMost::kHeads);
  const uint32_t values = keys.count("ssm.time_step_rank", ModelMost::kHeads);
  if (values % heads.keys != 0) {
    keys.refuse("ssm.time_step_rank", values,
                fmt::format("a multiple of the {} key heads", heads.keys));
  }
  heads.each = values / heads.keys;
  heads.dealt = files == DeltaFiles::kDealt;
  const uint32_t inner = keys.count("ssm.inner_size", kMaxDeltaWidth);
  if (uint64_t{values} * block->length != inner) {
    keys.refuse("ssm.inner_size", inner, fmt::format("{} heads of {}", values, block->length));
  }
}

// Returns the key heads in a unit of the heads' axis: the fewest whose output columns are whole
// blocks. If value heads are dealt, columns are reordered in runs, which must also be whole blocks
// of the file's type. Runs of 256 columns suit every type.
uint32_t unit_heads(const DeltaBlock& block, uint32_t file_block) {
  const DeltaHeads& heads = block.heads;
  auto least = [&](uint32_t columns, uint32_t multiple) {
    for (uint32_t unit = 1; unit < heads.keys; ++unit) {
      if (heads.keys % unit == 0 && uint64_t{unit} * columns % multiple == 0) return unit;
    }
    return heads.keys;
  };
  if (!heads.dealt || heads.each == 1) return least(heads.each * block.length, kBlock);
  const uint32_t wide = least(block.length, kWidestBlock);
  return wide < heads.keys ? wide : least(block.length, std::lcm(kBlock, file_block));
}

void name_gates(SpecBuilder& m, uint32_t layer, AxisId axis, DeltaFiles files, DeltaBlock* block) {
  const DeltaHeads& heads = block->heads;
  const auto l = static_cast<int>(layer);
  auto rows = [&](const char* member, const char* name, uint32_t part, uint32_t of_head) {
    const uint32_t count = heads.keys * of_head;
    return m.matrix(l, {.member = member,
                        .name = layer_tensor(layer, name),
                        .rows = count,
                        .k = m.hyper().width,
                        .axis = axis,
                        .item_size = of_head,
                        .first = part * count,
                        .all_rows = heads.parts() * count});
  };
  if (files == DeltaFiles::kBesideEachOther) {
    block->alpha.push_back(rows("beta and alpha", "ssm_ba.weight", 0, 2 * heads.each));
    return;
  }
  for (uint32_t p = 0; p < heads.parts(); ++p) {
    block->alpha.push_back(rows("alpha", "ssm_alpha.weight", p, heads.of_part()));
    block->beta.push_back(rows("beta", "ssm_beta.weight", p, heads.of_part()));
  }
}

void name_delta_matrices(SpecBuilder& m, uint32_t layer, AxisId axis, DeltaBlock* block) {
  const DeltaHeads& heads = block->heads;
  const uint32_t d = block->length, keys = heads.keys * d, values = heads.values() * d;
  auto rows = [&](const char* member, const char* name, uint32_t of_head, uint32_t first,
                  uint32_t all) {
    return m.matrix(static_cast<int>(layer), {.member = member,
                                              .name = layer_tensor(layer, name),
                                              .rows = heads.keys * of_head,
                                              .k = m.hyper().width,
                                              .axis = axis,
                                              .item_size = of_head,
                                              .first = first,
                                              .all_rows = all});
  };
  const uint32_t all = 2 * keys + values, part = values / heads.parts();
  block->query = rows("q", "attn_qkv.weight", d, 0, all);
  block->key = rows("k", "attn_qkv.weight", d, keys, all);
  for (uint32_t p = 0; p < heads.parts(); ++p) {
    block->value.push_back(
        rows("v", "attn_qkv.weight", heads.of_part() * d, 2 * keys + p * part, all));
    block->gate.push_back(rows("z", "attn_gate.weight", heads.of_part() * d, p * part, values));
  }
}

}  // namespace

bool has_full_attention(SpecBuilder& m, uint32_t layer) {
  constexpr const char *kEvery = "full_attention_interval", *kLayers = "attention.recurrent_layers";
  const uint32_t layers = m.hyper().layers;
  auto is_full = [&](uint32_t i) {
    const ModelKeys keys = m.keys(i);
    const uint32_t every = keys.count_or(kEvery, 4, ModelMost::kLayers);
    if (keys.is_per_layer(kLayers)) return !keys.flag_or(kLayers, true);
    return (i + 1) % every == 0;
  };
  bool any = layer > 0;  // checked once, at the first layer
  for (uint32_t i = 0; i < layers && !any; ++i) any = is_full(i);
  if (!any) {
    fail(
        ErrorCode::kUnsupported,
        "'{}' has {} layers, none with full attention ({}{}, {}): this version does not support it",
        m.source().name(), layers, m.keys().prefix(), kEvery, kLayers);
  }
  return is_full(layer);
}

DeltaBlock make_delta(SpecBuilder& m, uint32_t layer, DeltaFiles files) {
  DeltaBlock block;
  read_delta_sizes(m.keys(layer), files, &block);
  const DeltaHeads& heads = block.heads;
  const uint32_t d = block.length, values = heads.values();
  const auto l = static_cast<int>(layer);
  auto name = [&](const char* of) { return layer_tensor(layer, of); };
  const SourceTensor& out = m.source().require_tensor(name("ssm_out.weight"));
  const uint32_t unit =
      unit_heads(block, out.type_known ? dtype_info(out.dtype).block_elements : 1);
  block.heads.unit = unit;
  const AxisId axis = m.axis({.name = "delta_heads", .items = heads.keys, .unit_items = unit});
  name_delta_matrices(m, layer, axis, &block);
  name_gates(m, layer, axis, files, &block);
  block.conv = m.table(l, "convolution", name("ssm_conv1d.weight"), (2 * heads.keys + values) * d,
                       block.taps);
  block.bias = m.vector(l, "bias", name("ssm_dt.bias"), values);
  block.rate = m.vector(l, "rate", name("ssm_a"), values);
  m.check_not_positive(block.rate);
  block.norm = m.norm(l, NormKind::kRms, "norm", name("ssm_norm"), d);
  MatrixPlace output{.member = "o",
                     .name = name("ssm_out.weight"),
                     .rows = m.hyper().width,
                     .k = values * d,
                     .cut = WeightCut::kColumns,
                     .axis = axis,
                     .item_size = heads.each * d};
  if (heads.dealt && heads.each > 1 && unit < heads.keys) {
    output.column_runs = {.length = unit * d, .groups = heads.keys / unit, .count = heads.each};
  }
  block.output = m.matrix(l, output);
  return block;
}

void refuse_not_causal(SpecBuilder& m) {
  if (!m.keys().flag_or("attention.causal", true)) {
    fail(ErrorCode::kUnsupported,
         "'{}': {}attention.causal is false, but its recurrent layers see only earlier tokens: "
         "this version does not support it",
         m.source().name(), m.keys().prefix());
  }
}

void append_hybrid_layer(SpecBuilder& m, uint32_t layer, DeltaFiles files,
                         const std::function<SpecBuilder::Body()>& feed_forward) {
  refuse_not_causal(m);
  const Residual residual{
      NormKind::kRms, {.before = "attn_norm"}, {.before = "post_attention_norm"}};
  auto first = [&]() -> SpecBuilder::Body {
    if (!has_full_attention(m, layer)) return make_delta(m, layer, files);
    return make_attention(m, layer,
                          {.rope = RopeLayout::kHalf, .norms = QkNorms::kHeads, .gated = true});
  };
  m.layer({first(), feed_forward(), residual});
}

}  // namespace hearth
