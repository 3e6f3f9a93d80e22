// Reads RoPE's parameters from a model's keys.
#include <cmath>

#include "kernels/attention/latent.h"
#include "models/make_blocks.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Reads RoPE's scaling. Old files have only rope.scale_linear, where 0 means none. A factor without
// a type is linear.
void read_scaling(const ModelKeys& keys, RopeParams* rope) {
  const double linear = keys.non_negative_or("rope.scale_linear", 1);
  rope->factor = keys.non_negative_or("rope.scaling.factor", linear);
  if (rope->factor == 0) rope->factor = 1;
  const std::string scaling = keys.text_or("rope.scaling.type", "linear");
  if (scaling == "none" || scaling == "longrope") rope->factor = 1;
  // Sines and cosines grow by both attn_factors, whatever the scaling type is.
  rope->yarn_attn_factor = keys.real_or("rope.scaling.attn_factor", 1) *
                           keys.real_or("rope.scaling.yarn_attn_factor", 1);
  const double ramp = keys.non_negative_or("rope.scaling.yarn_ext_factor", scaling == "yarn");
  if (scaling != "yarn" && ramp != 0) {
    keys.refuse("rope.scaling.yarn_ext_factor", ramp, "0, or the scaling type must be yarn");
  }
  if (scaling == "linear") {
    if (rope->factor != 1) rope->scaling = RopeScaling::kLinear;
  } else if (scaling == "yarn") {
    rope->scaling = RopeScaling::kYarn;
    rope->yarn_ext_factor = ramp;
    rope->yarn_beta_fast = keys.real_or("rope.scaling.yarn_beta_fast", 32);
    rope->yarn_beta_slow = keys.real_or("rope.scaling.yarn_beta_slow", 1);
    // Hugging Face folders set this key. GGUF files have no such key, and their readers round to
    // whole pairs.
    rope->yarn_whole_pairs = keys.flag_or("rope.scaling.yarn_truncate", true);
  } else if (scaling != "none" && scaling != "longrope") {
    fail(ErrorCode::kUnsupported,
         "'{}' asks for RoPE scaling '{}', which is not supported; supported are none, linear, "
         "yarn, longrope, and llama3's factors",
         keys.source().name(), scaling);
  }
}

// Returns the `count` elements of tensor `name`; empty without such a tensor.
std::vector<float> factors_of(SpecBuilder& m, const char* name, uint32_t count) {
  m.says_nothing_new(name);
  const ModelSource& source = m.source();
  const SourceTensor* stored = source.find_tensor(name);
  if (stored == nullptr) return {};
  const bool f32 = stored->type_known && stored->dtype == DType::kF32;
  if (!f32 || stored->n_elements != count) {
    fail(ErrorCode::kFile,
         "'{}': tensor {} must have {} values of f32: the file is damaged, download it again",
         source.name(), name, count);
  }
  std::vector<float> factors(count);
  dequantize_row(DType::kF32, stored->data.data(), count, factors.data());
  for (float factor : factors) {
    if (!std::isfinite(factor) || factor <= 0) {
      fail(ErrorCode::kFile,
           "'{}': tensor {} has the value {}, which is not positive: the file is damaged, download "
           "it again",
           source.name(), name, factor);
    }
  }
  return factors;
}

// Reads factors of RoPE's frequencies. LongRoPE has two sets: for contexts longer than the original
// one, and for others.
void read_factors(SpecBuilder& m, const ModelKeys& keys, RopeParams* rope) {
  const uint32_t count = rope->n_rot / 2;
  rope->freq_factors = factors_of(m, "rope_freqs.weight", count);
  std::vector<float> longer = factors_of(m, "rope_factors_long.weight", count);
  std::vector<float> shorter = factors_of(m, "rope_factors_short.weight", count);
  const bool wanted = keys.text_or("rope.scaling.type", "linear") == "longrope";
  if (longer.empty() && shorter.empty() && !wanted) return;
  if (longer.empty() || shorter.empty() || !rope->freq_factors.empty()) {
    fail(ErrorCode::kFile,
         "'{}' must have both rope_factors_long and rope_factors_short, and no rope_freqs: the "
         "file is damaged or made for another program",
         m.source().name());
  }
  rope->freq_factors = std::move(longer);
  rope->short_factors = std::move(shorter);
}

// Returns RoPE's layout with the number of rotated elements. It is key `own` if there is one, else
// rope.dimension_count, else the head's length. `own` may be null.
RopeParams read_rotation(const ModelKeys& keys, const char* own, RopeLayout layout,
                         uint32_t head_length) {
  RopeParams rope;
  rope.layout = layout;
  const char* key = "rope.dimension_count";
  if (own != nullptr && keys.number_or(own, 0) > 0) key = own;
  rope.n_rot = keys.count_or(key, head_length, kMaxHeadDim);
  if (rope.n_rot <= head_length && rope.n_rot % 2 == 0) return rope;
  keys.refuse(key, rope.n_rot, fmt::format("an even number up to the head's {}", head_length));
}

}  // namespace

RopeParams read_local_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout,
                           uint32_t head_length) {
  const ModelKeys keys = m.keys(layer);
  RopeParams rope = read_rotation(keys, "rope.dimension_count_swa", layout, head_length);
  rope.freq_base = keys.real_or("rope.freq_base_swa", 10000);
  return rope;
}

uint32_t original_context(SpecBuilder& m, uint32_t layer) {
  return m.keys(layer).count_or("rope.scaling.original_context_length", m.hyper().context,
                                ModelMost::kContext);
}

RopeParams read_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout, uint32_t head_length) {
  const ModelKeys keys = m.keys(layer);
  RopeParams rope = read_rotation(keys, nullptr, layout, head_length);
  rope.freq_base = keys.real_or("rope.freq_base", 10000);
  rope.original_context = original_context(m, layer);
  read_scaling(keys, &rope);
  read_factors(m, keys, &rope);
  return rope;
}

}  // namespace hearth
