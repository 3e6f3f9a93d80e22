#include "models/model_spec.h"

#include <algorithm>

#include "base/check.h"
#include "graph/ops/gated_conv.h"
#include "models/registry.h"
#include "models/spec_builder.h"

namespace hearth {

std::span<const std::byte> WeightSpec::bytes() const {
  HEARTH_CHECK(data->runs.empty(), "the rows lie in one piece");
  if (is_matrix()) {
    size_t stride = row_bytes(dtype, k);
    return data->data.subspan(first * stride, rows * stride);
  }
  return data->data.subspan(row_bytes(dtype, first), row_bytes(dtype, k));
}

std::optional<KeptRows> ModelSpec::kept(uint32_t layer) const {
  if (const auto* latent = block<LatentBlock>(layer)) {
    return KeptRows{.key_length = latent->kv_lora_rank + latent->rope.n_rot,
                    .axis = weight(latent->key_up).axis,
                    .latent = true};
  }
  const auto* attention = block<AttentionBlock>(layer);
  if (attention == nullptr || attention->kept != KvKept::kCached || attention->keys_of) return {};
  return KeptRows{.key_length = attention->key_length,
                  .value_length = attention->value_length,
                  .axis = weight(attention->key.weight).axis,
                  .window = attention->window};
}

std::optional<KeptState> ModelSpec::kept_state(uint32_t layer) const {
  if (const auto* conv = block<ShortConvBlock>(layer)) {
    return KeptState{.axis = weight(conv->before).axis,
                     .item_floats = conv_state_floats(conv->taps)};
  }
  const auto* delta = block<DeltaBlock>(layer);
  if (delta == nullptr) return {};
  return KeptState{.axis = weight(delta->key).axis,
                   .item_floats = delta_state_floats(delta->heads, delta->length, delta->taps)};
}

bool ModelSpec::has_states() const {
  return first<DeltaBlock>() != nullptr || first<ShortConvBlock>() != nullptr;
}

std::optional<AxisId> ModelSpec::head_axis(uint32_t layer) const {
  if (const auto* latent = block<LatentBlock>(layer)) return weight(latent->query).axis;
  if (const auto* delta = block<DeltaBlock>(layer)) return weight(delta->query).axis;
  if (const auto* attention = block<AttentionBlock>(layer)) {
    return weight(attention->query.weight).axis;
  }
  return {};
}

uint32_t ModelSpec::expert_count() const {
  const auto* experts = first<ExpertsBlock>();
  return experts == nullptr ? 0 : experts->rule.experts;
}

bool ModelSpec::has_kv_cache() const {
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (kept(layer)) return true;
  }
  return false;
}

uint32_t ModelSpec::kept_window() const {
  uint32_t window = 0;
  bool others = false;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const std::optional<KeptRows> rows = kept(layer);
    if (!rows) continue;
    window = std::max(window, rows->window);
    others = others || rows->window == 0;
  }
  // A model with states keeps all pages, even those of layers with windows: its sequences can only
  // resume at a position whose state is kept.
  return others && !has_states() ? window : 0;
}

bool ModelSpec::is_encoder() const {
  return any<AttentionBlock>(
      [](const AttentionBlock& of) { return of.mask == Mask::kBidirectional; });
}

bool ModelSpec::is_reranker() const {
  return score.has_value() || hyper.pooling == PoolingType::kRank;
}

uint64_t ModelSpec::matrix_bytes() const {
  uint64_t bytes = 0;
  for (const WeightSpec& weight : weights) {
    if (weight.is_matrix()) bytes += weight.rows * weight.data->stored_row_bytes();
  }
  return bytes;
}

std::string layer_tensor(uint32_t layer, const char* name) {
  return fmt::format("blk.{}.{}", layer, name);
}

namespace {

ModelSpec described(const ModelSource& source, const Architecture& architecture,
                    const WeightPolicy& policy) {
  SpecBuilder builder(source);
  architecture.describe(builder);
  return std::move(builder).finish(architecture, policy);
}

}  // namespace

ModelSpec make_spec(const ModelSource& source) { return make_spec(source, WeightPolicy{}); }

ModelSpec make_spec(const ModelSource& source, const WeightPolicy& policy) {
  return described(source, architecture_for(source), policy);
}

ModelSpec make_spec(const ModelSource& source, const Architecture& architecture) {
  return described(source, architecture, {});
}

}  // namespace hearth
