#include "formats/hf_unread.h"

#include <algorithm>

namespace hearth {
namespace {

// The value, besides null, with which a key has no effect.
enum class Neutral : uint8_t { kZero, kOne, kNever };

struct Key {
  std::string_view name;
  Neutral neutral;
};

constexpr Key kKeys[] = {
    {"alibi", Neutral::kZero},
    {"attention_chunk_size", Neutral::kZero},
    {"attention_multiplier", Neutral::kNever},
    {"attn_logit_softcapping", Neutral::kZero},
    {"attn_temperature_tuning", Neutral::kZero},
    {"clip_qkv", Neutral::kZero},
    {"embedding_multiplier", Neutral::kOne},
    {"final_logit_softcapping", Neutral::kZero},
    {"hidden_size_per_layer_input", Neutral::kZero},
    {"index_topk", Neutral::kZero},
    {"key_multiplier", Neutral::kOne},
    {"lm_head_multiplier", Neutral::kOne},
    {"logit_scale", Neutral::kOne},
    {"logits_scaling", Neutral::kOne},
    {"no_rope_layers", Neutral::kOne},
    {"num_kv_shared_layers", Neutral::kZero},
    {"parallel_attn", Neutral::kZero},
    {"query_pre_attn_scalar", Neutral::kNever},
    {"residual_multiplier", Neutral::kOne},
    {"router_logit_softcapping", Neutral::kZero},
    {"scale_depth", Neutral::kNever},
    {"scale_emb", Neutral::kOne},
    {"swiglu_limit", Neutral::kZero},
    {"use_bidirectional_attention", Neutral::kZero},
    {"use_parallel_residual", Neutral::kZero},
};

bool is_neutral(const boost::json::value& value, Neutral neutral) {
  if (neutral == Neutral::kNever) return false;
  const double wanted = neutral == Neutral::kOne ? 1 : 0;
  if (value.is_bool()) return static_cast<double>(value.get_bool()) == wanted;
  if (value.is_number()) return value.to_number<double>() == wanted;
  if (!value.is_array()) return false;
  return std::ranges::all_of(value.get_array(), [&](const boost::json::value& element) {
    return element.is_number() && element.to_number<double>() == wanted;
  });
}

bool reads(const HfSets<HfKey>& sets, std::string_view name) {
  return std::ranges::any_of(sets, [&](std::span<const HfKey> keys) {
    return std::ranges::find(keys, name, &HfKey::from) != keys.end();
  });
}

bool reads(const HfFamily& family, std::string_view name) {
  return std::ranges::find(family.reads, name) != family.reads.end() || reads(family.keys, name) ||
         reads(family.more_keys, name);
}

}  // namespace

void refuse_unread_keys(const ConfigReader& config, const HfFamily& family) {
  for (const Key& key : kKeys) {
    const boost::json::value* value = config.find(key.name);
    if (value == nullptr || is_neutral(*value, key.neutral) || reads(family, key.name)) continue;
    config.fail_unsupported(key.name, "ignoring it would make the text wrong");
  }
}

}  // namespace hearth
