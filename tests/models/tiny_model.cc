#include "tiny_model.h"

#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "base/fp_types.h"
#include "formats/test_model.h"

namespace hearth {
namespace {

class TinyValues {
 public:
  explicit TinyValues(float scale) : scale_(scale) {}

  std::vector<std::byte> of(const TestTensor& tensor) {
    const float root = std::sqrt(static_cast<float>(tensor.dims[0]));
    if (tensor.type == DType::kQ8_0) return codes(tensor_bytes(tensor), 1 / (127 * root));
    if (tensor.type == DType::kBF16) {
      return shortened(floats(tensor_bytes(tensor) / sizeof(bf16_t), 1 / root, 0));
    }
    const size_t count = tensor_bytes(tensor) / sizeof(float);
    if (tensor.name.ends_with("ssm_a")) return floats(count, 0.9f, -1);
    if (tensor.dims.size() == 1) return floats(count, 0.1f, tensor.name.ends_with(".bias") ? 0 : 1);
    return floats(count, (tensor.dims.size() == 2 ? scale_ : 1) / root, 0);
  }

 private:
  std::vector<std::byte> floats(size_t count, float spread, float mean) {
    std::vector<float> values(count);
    for (float& v : values) {
      v = mean + spread * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1);
    }
    auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }
  static std::vector<std::byte> shortened(const std::vector<std::byte>& floats) {
    std::vector<std::byte> bytes;
    for (size_t at = 0; at < floats.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, &floats[at], sizeof(value));
      const bf16_t half = f32_to_bf16(value);
      bytes.push_back(static_cast<std::byte>(half & 0xff));
      bytes.push_back(static_cast<std::byte>(half >> 8));
    }
    return bytes;
  }
  std::vector<std::byte> codes(size_t bytes, float size) {
    const size_t block_bytes = dtype_info(DType::kQ8_0).block_bytes;
    const f16_t scale = f32_to_f16(size);
    std::vector<std::byte> blocks;
    while (blocks.size() < bytes) {
      blocks.push_back(static_cast<std::byte>(scale & 0xff));
      blocks.push_back(static_cast<std::byte>(scale >> 8));
      for (size_t i = 2; i < block_bytes; ++i) {
        blocks.push_back(static_cast<std::byte>(random_() >> 24));
      }
    }
    return blocks;
  }

  float scale_;
  std::mt19937 random_{1};
};

ModelShape model_shape(const TinyShape& tiny) {
  return {.layers = tiny.layers,
          .width = tiny.width,
          .heads = tiny.heads,
          .kv_heads = tiny.kv_heads,
          .key_length = tiny.head_dim,
          .value_length = tiny.head_dim,
          .ffn = tiny.ffn,
          .vocabulary = tiny.vocabulary,
          .context = 512,
          .window = tiny.window,
          .type = tiny.codes  ? DType::kQ8_0
                  : tiny.bf16 ? DType::kBF16
                              : DType::kF32};
}

std::vector<std::byte> file_of(const TestSource& source, const TinyShape& tiny) {
  TinyValues values(tiny.scale);
  return source.gguf([&](const TestTensor& tensor) { return values.of(tensor); });
}

}  // namespace

std::vector<std::byte> tiny_llama(const TinyShape& shape) {
  TestSource source = made_source(model_shape(shape));
  if (shape.extra_tensor) source.add("blk.0.attn_sinks.weight", {shape.heads});
  return file_of(source, shape);
}

std::vector<std::byte> tiny_deepseek2(const TinyShape& shape) {
  ModelShape model = model_shape(shape);
  model.architecture = "deepseek2";
  model.context = 4096;
  model.type = DType::kF32;
  model.latents = {.q_lora_rank = 24, .kv_lora_rank = 48, .nope_length = 16, .rope_length = 8};
  return file_of(made_source(model), shape);
}

std::vector<std::byte> tiny_qwen3moe(const TinyShape& shape) {
  ModelShape model = model_shape(shape);
  model.architecture = "qwen3moe";
  model.experts = {.count = 8, .chosen = 2, .ffn = shape.ffn / 2};
  return file_of(made_source(model), shape);
}

std::vector<std::byte> tiny_qwen35(const TinyShape& shape) {
  ModelShape model = model_shape(shape);
  model.architecture = "qwen35";
  model.delta = {.keys = 2, .values = 4, .length = shape.head_dim, .taps = 4, .interval = 2};
  return file_of(made_source(model), shape);
}

std::vector<std::byte> tiny_gemma3(const TinyShape& shape, uint32_t window) {
  ModelShape model = model_shape(shape);
  model.architecture = "gemma3";
  model.context = 4096;
  model.window = window;
  TestSource source = made_source(model);
  std::vector<bool> windowed;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) windowed.push_back(layer % 2 == 0);
  source.set("gemma3.attention.sliding_window_pattern", windowed);
  return file_of(source, shape);
}

std::vector<std::byte> tiny_bert(const TinyShape& shape) {
  ModelShape model = model_shape(shape);
  model.architecture = "bert";
  model.kv_heads = shape.heads;
  model.key_length = model.value_length = shape.width / shape.heads;
  model.token_types = 1;
  return file_of(made_source(model), shape);
}

}  // namespace hearth
