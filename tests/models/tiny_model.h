// Tiny random models built in the test, for properties that the golden set does not vary, such as
// the number of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth {

struct TinyShape {
  uint32_t layers = 2, width = 64, heads = 4, kv_heads = 2, head_dim = 16, ffn = 96;
  uint32_t vocabulary = 80;
  uint32_t window = 0;        // sliding window of attention
  float scale = 1;            // factor of the values of all float matrices
  bool codes = false;         // the layers' matrices are Q8_0
  bool bf16 = false;          // they are BF16
  bool extra_tensor = false;  // blk.0.attn_sinks.weight, which Llama lacks
};

// A Llama-architecture file of F32 without a vocabulary; the same bytes for the same shape.
std::vector<std::byte> tiny_llama(const TinyShape& shape);
// Makes a deepseek2 without experts: latents of 48 elements, values of head_dim.
std::vector<std::byte> tiny_deepseek2(const TinyShape& shape);
// Makes a qwen3moe: 8 experts, each half as wide as the shape's FFN. A token takes 2.
std::vector<std::byte> tiny_qwen3moe(const TinyShape& shape);
// Makes a qwen35. Of every two layers the first keeps states, with two value heads for each of two
// key heads, of head_dim.
std::vector<std::byte> tiny_qwen35(const TinyShape& shape);
// Makes a gemma3. Every second layer, from the first on, sees `window` positions.
std::vector<std::byte> tiny_gemma3(const TinyShape& shape, uint32_t window);
// Makes a BERT: an encoder with heads of width / heads elements and 512 positions.
std::vector<std::byte> tiny_bert(const TinyShape& shape);

}  // namespace hearth
