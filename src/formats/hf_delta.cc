#include "formats/hf_delta.h"

#include <cstring>

namespace hearth {
namespace {

uint64_t each_of(const HfConfig& config) {
  return config[HfValue::kDeltaValues] / config[HfValue::kDeltaKeys];
}

// Returns which of the folder's value heads is GGUF's value head `i`.
uint64_t value_head(const HfConfig& config, uint64_t i) {
  if (!config.family->deals_heads) return i;
  const uint64_t keys = config[HfValue::kDeltaKeys];
  return i % keys * each_of(config) + i / keys;
}

}  // namespace

bool HfHeads::as_stored() const {
  if (taken.size() != stored) return false;
  for (uint64_t i = 0; i < stored; ++i) {
    if (taken[i] != i) return false;
  }
  return true;
}

std::vector<std::byte> copied_heads(const HfHeads& heads, std::span<const std::byte> from) {
  const size_t size = from.size() / heads.stored;
  std::vector<std::byte> copy(size * heads.taken.size());
  for (size_t i = 0; i < heads.taken.size(); ++i) {
    std::memcpy(copy.data() + i * size, from.data() + heads.taken[i] * size, size);
  }
  return copy;
}

HfHeads mixed_heads(const HfConfig& config) {
  const uint64_t before = 2 * config[HfValue::kDeltaKeys], values = config[HfValue::kDeltaValues];
  HfHeads heads{before + values, {}};
  for (uint64_t i = 0; i < before; ++i) heads.taken.push_back(i);
  for (uint64_t i = 0; i < values; ++i) heads.taken.push_back(before + value_head(config, i));
  return heads;
}

HfHeads value_heads(const HfConfig& config) {
  HfHeads heads{config[HfValue::kDeltaValues], {}};
  for (uint64_t i = 0; i < heads.stored; ++i) heads.taken.push_back(value_head(config, i));
  return heads;
}

HfHeads joined_heads(const HfConfig& config) {
  const uint64_t keys = config[HfValue::kDeltaKeys], each = each_of(config), all = 2 + 2 * each;
  HfHeads heads{keys * all, {}};
  for (uint64_t part = 0; part < 2; ++part) {
    for (uint64_t key = 0; key < keys; ++key) heads.taken.push_back(key * all + part);
  }
  for (uint64_t i = 0; i < keys * each; ++i) {
    const uint64_t value = value_head(config, i);
    heads.taken.push_back(value / each * all + 2 + value % each);
  }
  return heads;
}

HfHeads joined_gates(const HfConfig& config) {
  const uint64_t keys = config[HfValue::kDeltaKeys], each = each_of(config), all = 2 + 2 * each;
  HfHeads heads{keys * all, {}};
  for (uint64_t i = 0; i < keys * each; ++i) {
    const uint64_t value = value_head(config, i);
    heads.taken.push_back(value / each * all + 2 + each + value % each);
  }
  return heads;
}

DealtColumns value_columns(const HfConfig& config) {
  if (!config.family->deals_heads || each_of(config) == 1) return {};
  return {static_cast<uint32_t>(config[HfValue::kDeltaLength]),
          static_cast<uint32_t>(config[HfValue::kDeltaKeys]),
          static_cast<uint32_t>(each_of(config))};
}

}  // namespace hearth
