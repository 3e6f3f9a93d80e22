#include "models/unread_keys.h"

#include <string_view>

#include "base/error.h"

namespace hearth {
namespace {

// The values with which a key has no effect.
enum class Neutral : uint8_t {
  kZero,       // 0, false
  kZeroOrOne,  // of factors: 0 also stands for none
  kNever,      // every value has an effect
};

struct Key {
  // The key after "<architecture>."; a name that ends in a dot stands for all keys that begin so.
  std::string_view name;
  Neutral neutral;
};

constexpr Key kKeys[] = {
    {"activation_sparsity_scale", Neutral::kNever},
    {"altup.", Neutral::kNever},
    {"attention.clamp_kqv", Neutral::kZero},
    {"attention.compress_ratios", Neutral::kZero},
    {"attention.group_norm_groups", Neutral::kZero},
    {"attention.indexer.top_k", Neutral::kZero},
    {"attention.max_alibi_bias", Neutral::kZero},
    {"attention.output_group_count", Neutral::kZero},
    {"attention.output_scale", Neutral::kZeroOrOne},
    {"attention.recurrent_layers", Neutral::kZero},
    {"attention.relative_buckets_count", Neutral::kZero},
    {"attention.rope_pattern", Neutral::kNever},
    {"attention.shared_kv_layers", Neutral::kZero},
    {"attention.sliding_window", Neutral::kZero},
    {"attention.temperature_scale", Neutral::kZero},
    {"attention.value_scale", Neutral::kZeroOrOne},
    {"attn_logit_softcapping", Neutral::kZero},
    {"embedding_length_per_layer_input", Neutral::kZero},
    {"embedding_scale", Neutral::kZeroOrOne},
    {"expert_group_scale", Neutral::kZeroOrOne},
    {"final_logit_softcapping", Neutral::kZero},
    {"full_attention_interval", Neutral::kZeroOrOne},
    {"hash_layer_count", Neutral::kZero},
    {"hrm.", Neutral::kNever},
    {"hyper_connection.count", Neutral::kZero},
    {"kda.", Neutral::kNever},
    {"laurel.", Neutral::kNever},
    {"logit_scale", Neutral::kZeroOrOne},
    {"interleave_moe_layer_step", Neutral::kZeroOrOne},
    {"moe_every_n_layers", Neutral::kZeroOrOne},
    {"ple.", Neutral::kNever},
    {"rescale_every_n_layers", Neutral::kZero},
    {"residual_scale", Neutral::kZeroOrOne},
    {"rope.scaling.alpha", Neutral::kZeroOrOne},
    {"router_logit_softcapping", Neutral::kZero},
    {"shortconv.", Neutral::kNever},
    {"ssm.", Neutral::kNever},
    {"swiglu_clamp_exp", Neutral::kZero},
    {"swiglu_clamp_shexp", Neutral::kZero},
    {"swin_norm", Neutral::kZero},
    {"use_parallel_residual", Neutral::kZero},
    {"wkv.", Neutral::kNever},
};

// Keys for windowed layers in models that mix layers with and without a window.
constexpr Key kWindowKeys[] = {
    {"attention.key_length_swa", Neutral::kZero},
    {"attention.sliding_window_pattern", Neutral::kZero},
    {"attention.value_length_swa", Neutral::kZero},
    {"rope.dimension_count_swa", Neutral::kZero},
    {"rope.freq_base_swa", Neutral::kZero},
};

// YaRN's correction of the size of scores. It has an effect only in a model whose attention uses
// YaRN. If the architecture does not read the key, the file is refused.
constexpr Key kYarnKeys[] = {{"rope.scaling.yarn_log_multiplier", Neutral::kZero}};

bool is_neutral(const MetaValue& value, Neutral neutral) {
  if (neutral == Neutral::kNever || value.element_type == MetaType::kString) return false;
  const size_t size = meta_type_bytes(value.element_type);
  for (uint64_t i = 0; i < value.count; ++i) {
    const std::byte* at = value.payload.data() + i * size;
    const bool ok = with_number(value.element_type, at, [&](auto number) {
      const auto real = static_cast<double>(number);
      return real == 0 || (neutral == Neutral::kZeroOrOne && real == 1);
    });
    if (!ok) return false;
  }
  return true;
}

bool matches(const Key& key, std::string_view name) {
  return key.name.ends_with('.') ? name.starts_with(key.name) : name == key.name;
}

void refuse(const ModelKeys& keys, std::span<const Key> unread) {
  const ModelSource& source = keys.source();
  for (const MetaEntry& entry : source.metadata().entries()) {
    if (!entry.key.starts_with(keys.prefix())) continue;
    const std::string_view name = entry.key.substr(keys.prefix().size());
    if (keys.was_read(name)) continue;
    for (const Key& key : unread) {
      if (!matches(key, name) || is_neutral(entry.value, key.neutral)) continue;
      fail(ErrorCode::kUnsupported,
           "'{}' has {} = {}, which this version ignores for its architecture, so the text would "
           "be wrong: use another conversion of the model",
           source.name(), entry.key, meta_value_text(entry.value));
    }
  }
}

}  // namespace

void refuse_unread_keys(const ModelKeys& keys, const ModelSpec& spec) {
  refuse(keys, kKeys);
  const bool windows =
      spec.any<AttentionBlock>([](const AttentionBlock& of) { return of.window > 0; });
  if (windows) refuse(keys, kWindowKeys);
  const bool yarn = spec.any<AttentionBlock>(
      [](const AttentionBlock& of) { return of.rope && of.rope->scaling == RopeScaling::kYarn; });
  if (yarn) refuse(keys, kYarnKeys);
}

}  // namespace hearth
