// Models for tests that need no weights' values (formats/test_model.h), with their specs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "formats/test_model.h"
#include "models/model_spec.h"

namespace hearth {

using LlamaShape = ModelShape;

inline TestSource llama_source(const LlamaShape& shape) { return made_source(shape); }

// The size of Qwen3 4B, in Q4_0 and its table in Q6_K.
inline LlamaShape qwen3_4b_shape(uint32_t layers = 36) {
  return {.layers = layers,
          .width = 2560,
          .heads = 32,
          .kv_heads = 8,
          .key_length = 128,
          .value_length = 128,
          .ffn = 9728,
          .vocabulary = 151936,
          .context = 40960,
          .type = DType::kQ4_0,
          .table_type = DType::kQ6_K};
}

// The shape of a deepseek2 model whose layers are dense and equal.
struct LatentModelShape {
  uint32_t layers = 1, width = 64, heads = 4, ffn = 96, vocabulary = 100, context = 4096;
  uint32_t q_lora_rank = 40;  // 0: queries are made of the row itself
  uint32_t kv_lora_rank = 48, nope_length = 24, rope_length = 16, value = 32;
};

inline TestSource latent_source(const LatentModelShape& shape) {
  return made_source(
      {.architecture = "deepseek2",
       .layers = shape.layers,
       .width = shape.width,
       .heads = shape.heads,
       .value_length = shape.value,
       .ffn = shape.ffn,
       .vocabulary = shape.vocabulary,
       .context = shape.context,
       .latents = {shape.q_lora_rank, shape.kv_lora_rank, shape.nope_length, shape.rope_length}});
}

// The shape of an encoder, with equal layers in the form usual for its architecture.
struct EncoderShape {
  std::string_view architecture = "bert";
  uint32_t layers = 1, width = 48, heads = 3, ffn = 70, vocabulary = 100, context = 40, types = 2;
  DType type = DType::kF32;
};

inline TestSource encoder_source(const EncoderShape& shape) {
  const uint32_t head = shape.width / shape.heads;
  return made_source({.architecture = shape.architecture,
                      .layers = shape.layers,
                      .width = shape.width,
                      .heads = shape.heads,
                      .kv_heads = shape.heads,
                      .key_length = head,
                      .value_length = head,
                      .ffn = shape.ffn,
                      .vocabulary = shape.vocabulary,
                      .context = shape.context,
                      .type = shape.type,
                      .table_type = shape.type,
                      .token_types = shape.types,
                      .pooling = 2});
}

// Returns the first weight of that member in the layer (for experts, the first expert's), or null.
inline const WeightSpec* weight_named(const ModelSpec& spec, int layer, std::string_view member) {
  const auto at = std::ranges::find_if(spec.weights, [&](const WeightSpec& weight) {
    return weight.layer == layer && weight.member == member;
  });
  return at == spec.weights.end() ? nullptr : &*at;
}

// Makes a spec by the architecture that the source names, or by `architecture`. Returns the message
// of its error, which must have this code.
inline std::string spec_refusal(TestSource made, ErrorCode code,
                                const Architecture* architecture = nullptr) {
  ModelSource source = made.source();
  try {
    architecture == nullptr ? make_spec(source) : make_spec(source, *architecture);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

// A source with its spec, which points into it.
class TestModel {
 public:
  explicit TestModel(TestSource source)
      : test_source_(std::move(source)),
        source_(test_source_.source()),
        spec_(make_spec(source_)) {}
  explicit TestModel(const LlamaShape& shape) : TestModel(llama_source(shape)) {}
  TestModel(const TestModel&) = delete;
  TestModel& operator=(const TestModel&) = delete;

  const ModelSource& source() const { return source_; }
  const ModelSpec& spec() const { return spec_; }

 private:
  TestSource test_source_;
  ModelSource source_;
  ModelSpec spec_;
};

}  // namespace hearth
