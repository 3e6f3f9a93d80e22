// RoPE by a model's keys.
#include <cmath>

#include "kernels/attention/latent.h"
#include "models/make_blocks.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Old files say only how much (rope.scale_linear); 0 stands for nothing. A factor without a type is
// linear.
void read_scaling(const ModelKeys& keys, uint32_t context, RopeParams* rope) {
  const double linear = keys.non_negative_or("rope.scale_linear", 1);
  rope->factor = keys.non_negative_or("rope.scaling.factor", linear);
  if (rope->factor == 0) rope->factor = 1;
  const std::string scaling = keys.text_or("rope.scaling.type", "linear");
  if (scaling == "none") rope->factor = 1;
  // Sines and cosines grow by these, whatever the type is.
  rope->yarn_attn_factor = keys.real_or("rope.scaling.attn_factor", 1) *
                           keys.real_or("rope.scaling.yarn_attn_factor", 1);
  const double ramp = keys.non_negative_or("rope.scaling.yarn_ext_factor", scaling == "yarn");
  if (scaling != "yarn" && ramp != 0) {
    keys.refuse("rope.scaling.yarn_ext_factor", ramp, "0, or the type yarn");
  }
  if (scaling == "linear") {
    if (rope->factor != 1) rope->scaling = RopeScaling::kLinear;
  } else if (scaling == "yarn") {
    rope->scaling = RopeScaling::kYarn;
    rope->original_context =
        keys.count_or("rope.scaling.original_context_length", context, ModelMost::kContext);
    rope->yarn_ext_factor = ramp;
    rope->yarn_beta_fast = keys.real_or("rope.scaling.yarn_beta_fast", 32);
    rope->yarn_beta_slow = keys.real_or("rope.scaling.yarn_beta_slow", 1);
  } else if (scaling != "none") {
    fail(ErrorCode::kUnsupported,
         "'{}' asks for RoPE scaling '{}'; known are none, linear, yarn, and llama3's factors",
         keys.source().name(), scaling);
  }
}

void read_factors(SpecBuilder& m, RopeParams* rope) {
  constexpr const char* kName = "rope_freqs.weight";
  m.says_nothing_new(kName);
  const ModelSource& source = m.source();
  const SourceTensor* factors = source.find_tensor(kName);
  if (factors == nullptr) return;
  const bool f32 = factors->type_known && factors->dtype == DType::kF32;
  if (!f32 || factors->n_elements != rope->n_rot / 2) {
    fail(ErrorCode::kFile, "'{}': tensor {} must hold {} values of f32", source.name(), kName,
         rope->n_rot / 2);
  }
  rope->freq_factors.resize(rope->n_rot / 2);
  dequantize_row(DType::kF32, factors->data.data(), rope->n_rot / 2, rope->freq_factors.data());
  for (float factor : rope->freq_factors) {
    if (!std::isfinite(factor) || factor <= 0) {
      fail(ErrorCode::kFile, "'{}': tensor {} holds {}, not a positive number", source.name(),
           kName, factor);
    }
  }
}

RopeParams turned(const ModelKeys& keys, RopeLayout layout, uint32_t head_length) {
  RopeParams rope;
  rope.layout = layout;
  rope.n_rot = keys.count_or("rope.dimension_count", head_length, kMaxHeadDim);
  if (rope.n_rot <= head_length && rope.n_rot % 2 == 0) return rope;
  keys.refuse("rope.dimension_count", rope.n_rot,
              fmt::format("an even number up to the head's {}", head_length));
}

}  // namespace

RopeParams read_local_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout,
                           uint32_t head_length) {
  const ModelKeys keys = m.keys(layer);
  RopeParams rope = turned(keys, layout, head_length);
  rope.freq_base = keys.real_or("rope.freq_base_swa", 10000);
  return rope;
}

RopeParams read_rope(SpecBuilder& m, uint32_t layer, RopeLayout layout, uint32_t head_length) {
  const ModelKeys keys = m.keys(layer);
  RopeParams rope = turned(keys, layout, head_length);
  rope.freq_base = keys.real_or("rope.freq_base", 10000);
  read_scaling(keys, m.hyper().context, &rope);
  read_factors(m, &rope);
  return rope;
}

}  // namespace hearth
