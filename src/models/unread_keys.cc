#include "models/unread_keys.h"

#include <string_view>

#include "base/error.h"

namespace hearth {
namespace {

// What a key says that changes nothing.
enum class Neutral : uint8_t {
  kZero,       // 0, false
  kZeroOrOne,  // of factors, of which 0 stands for none
  kNever,      // there is no such value
};

struct Key {
  std::string_view name;  // behind "<architecture>."; with a dot at its end, of all that begin so
  Neutral neutral;
};

constexpr Key kKeys[] = {
    {"activation_sparsity_scale", Neutral::kNever},
    {"altup.", Neutral::kNever},
    {"attention.clamp_kqv", Neutral::kZero},
    {"attention.compress_ratios", Neutral::kZero},
    {"attention.group_norm_groups", Neutral::kZero},
    {"attention.indexer.top_k", Neutral::kZero},
    {"attention.output_group_count", Neutral::kZero},
    {"attention.output_scale", Neutral::kZeroOrOne},
    {"attention.recurrent_layers", Neutral::kZero},
    {"attention.relative_buckets_count", Neutral::kZero},
    {"attention.rope_pattern", Neutral::kNever},
    {"attention.shared_kv_layers", Neutral::kZero},
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

// Of layers with a window where others have none, or other keys.
constexpr Key kWindowKeys[] = {
    {"attention.key_length_swa", Neutral::kZero},
    {"attention.sliding_window_pattern", Neutral::kZero},
    {"attention.value_length_swa", Neutral::kZero},
    {"rope.dimension_count_swa", Neutral::kZero},
    {"rope.freq_base_swa", Neutral::kZero},
};

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

class Judge {
 public:
  Judge(const ModelSource& source, std::string prefix)
      : source_(source), prefix_(std::move(prefix)) {}

  void refuse(std::span<const Key> keys) const {
    for (const MetaEntry& entry : source_.metadata().entries()) {
      if (!entry.key.starts_with(prefix_)) continue;
      for (const Key& key : keys) {
        if (!matches(key, entry.key.substr(prefix_.size()))) continue;
        if (is_neutral(entry.value, key.neutral)) continue;
        fail(ErrorCode::kUnsupported,
             "'{}' says {} = {}, which this version cannot run in its architecture: the text would "
             "be wrong",
             source_.name(), entry.key, meta_value_text(entry.value));
      }
    }
  }

 private:
  const ModelSource& source_;
  std::string prefix_;
};

}  // namespace

void refuse_unread_keys(const ModelSource& source, const ArchitectureKind& kind,
                        const HyperParameters& hyper) {
  const Judge judge(source, source.metadata().require<std::string>("general.architecture") + ".");
  judge.refuse(kKeys);
  if (hyper.window > 0) judge.refuse(kWindowKeys);
  constexpr Key kAlibi[] = {{"attention.max_alibi_bias", Neutral::kZero}};
  if (kind.positions != PositionKind::kAlibi) judge.refuse(kAlibi);
  constexpr Key kWindow[] = {{"attention.sliding_window", Neutral::kZero}};
  if (kind.latent) judge.refuse(kWindow);
  // Latent attention reads it; elsewhere scores grow with their sines and cosines alone.
  constexpr Key kGrowth[] = {{"rope.scaling.yarn_log_multiplier", Neutral::kZero}};
  if (!kind.latent && hyper.rope.scaling == RopeScaling::kYarn) judge.refuse(kGrowth);
}

}  // namespace hearth
