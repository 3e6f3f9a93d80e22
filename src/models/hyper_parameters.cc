#include "models/hyper_parameters.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "kernels/attention/latent.h"
#include "models/unread_keys.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// The keys of one architecture, with their errors.
class KeyReader {
 public:
  KeyReader(const ModelSource& source, std::string prefix)
      : source_(source), prefix_(std::move(prefix) + ".") {}

  uint32_t count(const char* key, uint32_t most) const {
    auto value = source_.metadata().require<uint32_t>(prefix_ + key);
    return checked(key, value, most);
  }
  uint32_t count_or(const char* key, uint32_t otherwise, uint32_t most) const {
    return checked(key, source_.metadata().get<uint32_t>(prefix_ + key).value_or(otherwise), most);
  }
  uint32_t number_or(const char* key, uint32_t otherwise) const {
    return source_.metadata().get<uint32_t>(prefix_ + key).value_or(otherwise);
  }
  // A finite number above zero.
  double real_or(const char* key, double otherwise) const {
    double value =
        source_.metadata().get<float>(prefix_ + key).value_or(static_cast<float>(otherwise));
    if (!std::isfinite(value) || value <= 0) refuse(key, value, "a positive number");
    return value;
  }
  double non_negative_or(const char* key, double otherwise) const {
    double value =
        source_.metadata().get<float>(prefix_ + key).value_or(static_cast<float>(otherwise));
    if (!std::isfinite(value) || value < 0) refuse(key, value, "a number that is not negative");
    return value;
  }
  bool flag_or(const char* key, bool otherwise) const {
    return source_.metadata().get<bool>(prefix_ + key).value_or(otherwise);
  }
  void need(const char* key) const { source_.metadata().require<float>(prefix_ + key); }
  std::string text_or(const char* key, const char* otherwise) const {
    return source_.metadata().get<std::string>(prefix_ + key).value_or(otherwise);
  }
  template <typename T>
  [[noreturn]] void refuse(const char* key, const T& value, const std::string& wanted) const {
    fail(ErrorCode::kFile,
         "'{}' says {}{} = {}, where {} is needed: the file is damaged or made for another program",
         source_.name(), prefix_, key, value, wanted);
  }

 private:
  uint32_t checked(const char* key, uint32_t value, uint32_t most) const {
    if (value == 0 || value > most) refuse(key, value, fmt::format("1 to {}", most));
    return value;
  }

  const ModelSource& source_;
  std::string prefix_;
};

// How experts are chosen, by GGUF's numbers.
constexpr uint32_t kSoftmaxGating = 1, kSigmoidGating = 2;

// The gating of a file that names none (0 names none as well). Files of GLM-4.7-Flash lack the key,
// as those of DeepSeek-V2 do, and share its architecture; a bias for choosing says which it is:
// routers with softmax that have one come with the key.
uint32_t unnamed_gating(const ModelSource& source, const ArchitectureKind& kind) {
  const bool biased = std::ranges::any_of(source.tensors(), [](const SourceTensor& tensor) {
    return tensor.name.ends_with(".exp_probs_b.bias");
  });
  return biased || kind.gating == Gating::kSigmoid ? kSigmoidGating : kSoftmaxGating;
}

constexpr uint32_t kMostLayers = 1024, kMostWidth = 1u << 17, kMostFfn = 1u << 20,
                   kMostHeads = 1024, kMostContext = 1u << 24, kMostTokenTypes = 1u << 16;
// Slopes of 2^-64 and less are none at all.
constexpr double kMostAlibi = 64;

void read_heads(const KeyReader& reader, HyperParameters* hyper) {
  hyper->heads = reader.count("attention.head_count", kMostHeads);
  hyper->kv_heads = reader.count_or("attention.head_count_kv", hyper->heads, kMostHeads);
  if (hyper->heads % hyper->kv_heads != 0) {
    reader.refuse("attention.head_count_kv", hyper->kv_heads,
                  fmt::format("a divisor of the {} heads", hyper->heads));
  }
  uint32_t even = std::max(1u, hyper->width / hyper->heads);
  hyper->key_length = reader.count_or("attention.key_length", even, kMaxHeadDim);
  hyper->value_length = reader.count_or("attention.value_length", hyper->key_length, kMaxHeadDim);
  hyper->attention_scale = static_cast<float>(
      reader.real_or("attention.scale", 1.0 / std::sqrt(static_cast<double>(hyper->key_length))));
  hyper->window = reader.number_or("attention.sliding_window", 0);
}

// key_length and value_length are of what the cache holds, those with _mla of a head.
void read_latent(const KeyReader& reader, const ModelSource& source, HyperParameters* hyper) {
  if (source.find_tensor("blk.0.attn_k_b.weight") == nullptr &&
      source.find_tensor("blk.0.attn_kv_b.weight") != nullptr) {
    fail(ErrorCode::kUnsupported,
         "'{}' has tensors attn_kv_b and no attn_k_b and attn_v_b: it was converted by a program "
         "that is too old; convert the model again",
         source.name());
  }
  hyper->heads = reader.count("attention.head_count", kMostHeads);
  hyper->kv_heads = reader.count_or("attention.head_count_kv", 1, kMostHeads);
  if (hyper->kv_heads != 1) reader.refuse("attention.head_count_kv", hyper->kv_heads, "1");
  hyper->query_rank = reader.number_or("attention.q_lora_rank", 0);
  if (hyper->query_rank != 0) hyper->query_rank = reader.count("attention.q_lora_rank", kMostWidth);
  hyper->latent_length = reader.count("attention.kv_lora_rank", kMaxLatentValue);
  hyper->key_length = reader.count("attention.key_length_mla", kMaxHeadDim);
  hyper->value_length = reader.count("attention.value_length_mla", kMaxHeadDim);
}

// The part of keys that RoPE turns lies behind the latent. Where the file tells how scores grow
// with the context that YaRN stretches, sines and cosines do not.
void finish_latent(const KeyReader& reader, HyperParameters* hyper) {
  RopeParams& rope = hyper->rope;
  if (rope.n_rot >= hyper->key_length || rope.n_rot > kMaxLatentKey - kMaxLatentValue) {
    reader.refuse("rope.dimension_count", rope.n_rot,
                  fmt::format("less than the head's {}, and {} at most", hyper->key_length,
                              kMaxLatentKey - kMaxLatentValue));
  }
  auto need = [&](const char* key, uint32_t wanted) {
    const uint32_t said = reader.number_or(key, wanted);
    if (said != wanted) reader.refuse(key, said, fmt::format("{}", wanted));
  };
  need("attention.key_length", hyper->latent_length + rope.n_rot);
  need("attention.value_length", hyper->latent_length);
  double growth = 0;
  if (rope.scaling == RopeScaling::kYarn) {
    growth = reader.non_negative_or("rope.scaling.yarn_log_multiplier", 0);
  }
  if (growth > 0) rope.yarn_growth = 0;
  const double magnitude = 1 + growth * std::log(std::max(1.0, rope.factor));
  hyper->attention_scale = static_cast<float>(
      magnitude * magnitude *
      reader.real_or("attention.scale", 1 / std::sqrt(static_cast<double>(hyper->key_length))));
}

void read_rope(const KeyReader& reader, const ModelSource& source, HyperParameters* hyper) {
  RopeParams& rope = hyper->rope;
  rope.n_rot = reader.count_or("rope.dimension_count", hyper->key_length, kMaxHeadDim);
  if (rope.n_rot > hyper->key_length || rope.n_rot % 2 != 0) {
    reader.refuse("rope.dimension_count", rope.n_rot,
                  fmt::format("an even number up to the head's {}", hyper->key_length));
  }
  rope.freq_base = reader.real_or("rope.freq_base", 10000);
  // Old files say only how much (rope.scale_linear); 0 stands for nothing. A factor without a type
  // is linear.
  const double linear = reader.non_negative_or("rope.scale_linear", 1);
  rope.factor = reader.non_negative_or("rope.scaling.factor", linear);
  if (rope.factor == 0) rope.factor = 1;
  const std::string scaling = reader.text_or("rope.scaling.type", "linear");
  if (scaling == "none") rope.factor = 1;
  // Sines and cosines grow by these, whatever the type is.
  rope.yarn_attn_factor = reader.real_or("rope.scaling.attn_factor", 1) *
                          reader.real_or("rope.scaling.yarn_attn_factor", 1);
  const double ramp = reader.non_negative_or("rope.scaling.yarn_ext_factor", scaling == "yarn");
  if (scaling != "yarn" && ramp != 0) {
    reader.refuse("rope.scaling.yarn_ext_factor", ramp, "0, or the type yarn");
  }
  if (scaling == "linear") {
    if (rope.factor != 1) rope.scaling = RopeScaling::kLinear;
  } else if (scaling == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    rope.original_context =
        reader.count_or("rope.scaling.original_context_length", hyper->context, kMostContext);
    rope.yarn_ext_factor = ramp;
    rope.yarn_beta_fast = reader.real_or("rope.scaling.yarn_beta_fast", 32);
    rope.yarn_beta_slow = reader.real_or("rope.scaling.yarn_beta_slow", 1);
  } else if (scaling != "none") {
    fail(ErrorCode::kUnsupported,
         "'{}' asks for RoPE scaling '{}'; known are none, linear, yarn, and llama3's factors",
         source.name(), scaling);
  }
  if (const SourceTensor* factors = source.find_tensor("rope_freqs.weight")) {
    if (factors->n_elements != rope.n_rot / 2 || factors->dtype != DType::kF32) {
      fail(ErrorCode::kFile, "'{}': tensor rope_freqs.weight must hold {} values of f32",
           source.name(), rope.n_rot / 2);
    }
    rope.freq_factors.resize(rope.n_rot / 2);
    dequantize_row(DType::kF32, factors->data.data(), rope.n_rot / 2, rope.freq_factors.data());
    for (float factor : rope.freq_factors) {
      if (!std::isfinite(factor) || factor <= 0) {
        fail(ErrorCode::kFile, "'{}': tensor rope_freqs.weight holds {}, not a positive number",
             source.name(), factor);
      }
    }
  }
}

void read_router(const KeyReader& reader, const ModelSource& source, const ArchitectureKind& kind,
                 uint32_t experts, RouterRule* rule) {
  rule->experts = experts;
  rule->used = reader.count("expert_used_count", std::min(experts, kMostChosen));
  uint32_t gating = reader.number_or("expert_gating_func", 0);
  if (gating == 0) gating = unnamed_gating(source, kind);
  if (gating != kSoftmaxGating && gating != kSigmoidGating) {
    reader.refuse("expert_gating_func", gating, "1 (softmax) or 2 (sigmoid)");
  }
  rule->gating = gating == kSoftmaxGating ? Gating::kSoftmax : Gating::kSigmoid;
  rule->normalised = reader.flag_or("expert_weights_norm", kind.normalised);
  // Converters write 0 where nothing is scaled.
  rule->scale = static_cast<float>(reader.non_negative_or("expert_weights_scale", 1));
  if (rule->scale == 0) rule->scale = 1;
  rule->groups = std::max(1u, reader.number_or("expert_group_count", 1));
  if (experts % rule->groups != 0) {
    reader.refuse("expert_group_count", rule->groups,
                  fmt::format("a divisor of the {} experts", experts));
  }
  rule->groups_used = rule->groups;
  if (rule->groups == 1) return;
  rule->groups_used = reader.count("expert_group_used_count", rule->groups);
  if (rule->groups_used * (experts / rule->groups) < rule->used) {
    reader.refuse("expert_group_used_count", rule->groups_used,
                  fmt::format("enough groups of {} experts to choose {} from",
                              experts / rule->groups, rule->used));
  }
}

void read_experts(const KeyReader& reader, const ModelSource& source, const ArchitectureKind& kind,
                  HyperParameters* hyper) {
  const uint32_t count = reader.number_or("expert_count", 0);
  if (count == 0) return;
  if (!kind.experts) {
    fail(ErrorCode::kUnsupported,
         "'{}' is a mixture of {} experts, which this version cannot run in its architecture",
         source.name(), count);
  }
  ExpertParameters& experts = hyper->experts;
  experts.count = reader.count("expert_count", kMostExperts);
  read_router(reader, source, kind, count, &experts.router);
  experts.leading_dense = reader.number_or("leading_dense_block_count", 0);
  if (experts.leading_dense > hyper->layers) {
    reader.refuse("leading_dense_block_count", experts.leading_dense,
                  fmt::format("at most the {} layers", hyper->layers));
  }
  experts.ffn = reader.count_or("expert_feed_forward_length", hyper->ffn, kMostFfn);
  const uint32_t shared = reader.number_or("expert_shared_count", 0);
  if (uint64_t{shared} * experts.ffn > kMostFfn) {
    reader.refuse("expert_shared_count", shared, fmt::format("{} at most", kMostFfn / experts.ffn));
  }
  experts.shared_ffn = reader.number_or("expert_shared_feed_forward_length", shared * experts.ffn);
  if (experts.shared_ffn > kMostFfn) {
    reader.refuse("expert_shared_feed_forward_length", experts.shared_ffn,
                  fmt::format("{} at most", kMostFfn));
  }
}

// Layers that predict several tokens stand behind the others and are counted with them.
void skip_prediction_layers(const KeyReader& reader, HyperParameters* hyper) {
  const uint32_t skipped = reader.number_or("nextn_predict_layers", 0);
  if (skipped >= hyper->layers) {
    reader.refuse("nextn_predict_layers", skipped,
                  fmt::format("less than the {} layers", hyper->layers));
  }
  hyper->skipped_layers = skipped;
  hyper->layers -= skipped;
}

// A row sees all of its text, or none that comes after it; windows are cut out of the latter.
void read_mask(const KeyReader& reader, const ModelSource& source, const ArchitectureKind& kind,
               HyperParameters* hyper) {
  hyper->causal = reader.flag_or("attention.causal", !kind.encoder);
  if (hyper->causal && kind.encoder) reader.refuse("attention.causal", true, "false");
  if (!hyper->causal && hyper->window != 0) {
    fail(ErrorCode::kUnsupported,
         "'{}' has a sliding window of {} positions in attention that is not causal: this version "
         "cannot run it",
         source.name(), hyper->window);
  }
  constexpr auto kLast = static_cast<uint32_t>(PoolingType::kRank);
  uint32_t pooling = reader.number_or("pooling_type", 0);
  if (pooling > kLast) reader.refuse("pooling_type", pooling, fmt::format("0 to {}", kLast));
  hyper->pooling = static_cast<PoolingType>(pooling);
}

void read_positions(const KeyReader& reader, const ModelSource& source,
                    const ArchitectureKind& kind, HyperParameters* hyper) {
  hyper->positions = kind.positions;
  if (kind.positions == PositionKind::kRope) return read_rope(reader, source, hyper);
  hyper->rope.n_rot = 0;
  if (kind.positions == PositionKind::kTable) return;
  double most = reader.real_or("attention.max_alibi_bias", 8);
  if (most > kMostAlibi) reader.refuse("attention.max_alibi_bias", most, "64 at most");
  hyper->max_alibi = static_cast<float>(most);
}

// The table's first row is of the only type that occurs. One row may have one dimension.
void read_token_types(const ModelSource& source, HyperParameters* hyper) {
  const SourceTensor* table = source.find_tensor("token_types.weight");
  if (table == nullptr) return;
  uint64_t rows = table->dims.size() == 1 ? 1 : table->dims[1];
  uint64_t said = source.metadata().get<uint32_t>("tokenizer.ggml.token_type_count").value_or(rows);
  if (table->dims.size() > 2 || rows > kMostTokenTypes || rows != said) {
    fail(ErrorCode::kFile,
         "'{}': tensor token_types.weight is {}, where a row for each of {} token types is needed: "
         "the file is damaged or its metadata was edited",
         source.name(), fmt::join(table->dims, " x "), said);
  }
  hyper->token_types = static_cast<uint32_t>(rows);
}

}  // namespace

const char* pooling_name(PoolingType pooling) {
  constexpr const char* kNames[] = {"none", "mean", "cls", "last", "rank"};
  static_assert(std::size(kNames) == static_cast<size_t>(PoolingType::kRank) + 1);
  return kNames[static_cast<size_t>(pooling)];
}

HyperParameters read_hyper_parameters(const ModelSource& source, const ArchitectureKind& kind) {
  HyperParameters hyper;
  KeyReader reader(source, source.metadata().require<std::string>("general.architecture"));
  hyper.layers = reader.count("block_count", kMostLayers);
  skip_prediction_layers(reader, &hyper);
  hyper.width = reader.count("embedding_length", kMostWidth);
  hyper.ffn = reader.count("feed_forward_length", kMostFfn);
  hyper.context = reader.count("context_length", kMostContext);
  if (kind.encoder) reader.need("attention.layer_norm_epsilon");
  // Files of models with layer norms have the second.
  double layer_eps = reader.real_or("attention.layer_norm_epsilon", 1e-5);
  hyper.norm_eps = static_cast<float>(
      kind.encoder ? layer_eps : reader.real_or("attention.layer_norm_rms_epsilon", layer_eps));
  const SourceTensor& table = source.require_tensor("token_embd.weight");
  if (table.dims.size() != 2 || table.dims[1] > (1u << 24)) {
    fail(ErrorCode::kFile, "'{}': tensor token_embd.weight is no table of token rows",
         source.name());
  }
  hyper.vocabulary = static_cast<uint32_t>(table.dims[1]);
  read_experts(reader, source, kind, &hyper);
  if (kind.latent) {
    read_latent(reader, source, &hyper);
  } else {
    read_heads(reader, &hyper);
  }
  read_mask(reader, source, kind, &hyper);
  read_positions(reader, source, kind, &hyper);
  if (kind.latent) finish_latent(reader, &hyper);
  read_token_types(source, &hyper);
  refuse_unread_keys(source, kind, hyper);
  return hyper;
}

}  // namespace hearth
