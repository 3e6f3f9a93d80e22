#include "tiny_model.h"

#include <cmath>
#include <random>
#include <string>

#include "base/fp_types.h"
#include "formats/test_gguf_writer.h"

namespace hearth {
namespace {

class ModelWriter {
 public:
  ModelWriter(GgufWriter& writer, const TinyShape& shape)
      : writer_(writer), scale_(shape.scale), codes_(shape.codes) {}

  void matrix(const std::string& name, uint32_t rows, uint32_t k) {
    add(name, {k, rows}, size_t{rows} * k, scale_ / std::sqrt(static_cast<float>(k)), 0);
  }
  void layer_matrix(const std::string& name, uint32_t rows, uint32_t k) {
    if (!codes_) return matrix(name, rows, k);
    std::vector<std::byte> blocks;
    f16_t scale = f32_to_f16(1 / (127 * std::sqrt(static_cast<float>(k))));
    for (uint32_t block = 0; block < rows * k / 32; ++block) {
      blocks.push_back(static_cast<std::byte>(scale & 0xff));
      blocks.push_back(static_cast<std::byte>(scale >> 8));
      for (int i = 0; i < 32; ++i) blocks.push_back(static_cast<std::byte>(random_() >> 24));
    }
    writer_.add_tensor(name, {k, rows}, DType::kQ8_0, blocks);
  }
  // One of each head, one above the other.
  void of_heads(const std::string& name, uint32_t heads, uint32_t rows, uint32_t k) {
    add(name, {k, rows, heads}, size_t{heads} * rows * k, 1 / std::sqrt(static_cast<float>(k)), 0);
  }
  void norm(const std::string& name, uint32_t n) { add(name, {n}, n, 0.1f, 1); }
  void bias(const std::string& name, uint32_t n) { add(name, {n}, n, 0.1f, 0); }

 private:
  void add(const std::string& name, std::vector<uint64_t> dims, size_t count, float spread,
           float mean) {
    std::vector<float> values(count);
    for (float& v : values) {
      v = mean + spread * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1);
    }
    writer_.add_tensor(name, std::move(dims), std::span<const float>(values));
  }

  GgufWriter& writer_;
  float scale_;
  bool codes_;
  std::mt19937 random_{1};
};

}  // namespace

std::vector<std::byte> tiny_llama(const TinyShape& shape) {
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  writer.set("llama.block_count", shape.layers);
  writer.set("llama.context_length", 512u);
  writer.set("llama.embedding_length", shape.width);
  writer.set("llama.feed_forward_length", shape.ffn);
  writer.set("llama.attention.head_count", shape.heads);
  writer.set("llama.attention.head_count_kv", shape.kv_heads);
  if (shape.window != 0) writer.set("llama.attention.sliding_window", shape.window);
  writer.set("llama.attention.key_length", shape.head_dim);
  writer.set("llama.attention.value_length", shape.head_dim);
  ModelWriter model(writer, shape);
  model.matrix("token_embd.weight", shape.vocabulary, shape.width);
  for (uint32_t l = 0; l < shape.layers; ++l) {
    std::string layer = "blk." + std::to_string(l) + ".";
    model.norm(layer + "attn_norm.weight", shape.width);
    model.layer_matrix(layer + "attn_q.weight", shape.heads * shape.head_dim, shape.width);
    model.layer_matrix(layer + "attn_k.weight", shape.kv_heads * shape.head_dim, shape.width);
    model.layer_matrix(layer + "attn_v.weight", shape.kv_heads * shape.head_dim, shape.width);
    model.layer_matrix(layer + "attn_output.weight", shape.width, shape.heads * shape.head_dim);
    model.norm(layer + "ffn_norm.weight", shape.width);
    model.layer_matrix(layer + "ffn_gate.weight", shape.ffn, shape.width);
    model.layer_matrix(layer + "ffn_up.weight", shape.ffn, shape.width);
    model.layer_matrix(layer + "ffn_down.weight", shape.width, shape.ffn);
  }
  model.norm("output_norm.weight", shape.width);
  if (shape.extra_tensor) model.norm("blk.0.ffn_up.bias", shape.ffn);
  return writer.finish();
}

std::vector<std::byte> tiny_deepseek2(const TinyShape& shape) {
  constexpr uint32_t kRank = 24, kLatent = 48, kStraight = 16, kTurned = 8;
  GgufWriter writer;
  writer.set("general.architecture", "deepseek2");
  auto key = [&](const char* name, uint32_t value) {
    writer.set(std::string("deepseek2.") + name, value);
  };
  key("block_count", shape.layers);
  key("context_length", 4096);
  key("embedding_length", shape.width);
  key("feed_forward_length", shape.ffn);
  key("attention.head_count", shape.heads);
  key("attention.q_lora_rank", kRank);
  key("attention.kv_lora_rank", kLatent);
  key("attention.key_length_mla", kStraight + kTurned);
  key("attention.value_length_mla", shape.head_dim);
  key("rope.dimension_count", kTurned);
  ModelWriter model(writer, shape);
  model.matrix("token_embd.weight", shape.vocabulary, shape.width);
  for (uint32_t l = 0; l < shape.layers; ++l) {
    std::string layer = "blk." + std::to_string(l) + ".";
    model.norm(layer + "attn_norm.weight", shape.width);
    model.matrix(layer + "attn_q_a.weight", kRank, shape.width);
    model.norm(layer + "attn_q_a_norm.weight", kRank);
    model.matrix(layer + "attn_q_b.weight", shape.heads * (kStraight + kTurned), kRank);
    model.matrix(layer + "attn_kv_a_mqa.weight", kLatent + kTurned, shape.width);
    model.norm(layer + "attn_kv_a_norm.weight", kLatent);
    model.of_heads(layer + "attn_k_b.weight", shape.heads, kLatent, kStraight);
    model.of_heads(layer + "attn_v_b.weight", shape.heads, shape.head_dim, kLatent);
    model.matrix(layer + "attn_output.weight", shape.width, shape.heads * shape.head_dim);
    model.norm(layer + "ffn_norm.weight", shape.width);
    model.matrix(layer + "ffn_gate.weight", shape.ffn, shape.width);
    model.matrix(layer + "ffn_up.weight", shape.ffn, shape.width);
    model.matrix(layer + "ffn_down.weight", shape.width, shape.ffn);
  }
  model.norm("output_norm.weight", shape.width);
  return writer.finish();
}

std::vector<std::byte> tiny_bert(const TinyShape& shape) {
  constexpr uint32_t kPositions = 512;
  GgufWriter writer;
  writer.set("general.architecture", "bert");
  writer.set("bert.block_count", shape.layers);
  writer.set("bert.context_length", kPositions);
  writer.set("bert.embedding_length", shape.width);
  writer.set("bert.feed_forward_length", shape.ffn);
  writer.set("bert.attention.head_count", shape.heads);
  writer.set("bert.attention.layer_norm_epsilon", 1e-12f);
  writer.set("bert.attention.causal", false);
  writer.set("tokenizer.ggml.token_type_count", 1u);
  ModelWriter model(writer, shape);
  auto linear = [&](const std::string& name, uint32_t rows, uint32_t k) {
    model.layer_matrix(name + ".weight", rows, k);
    model.bias(name + ".bias", rows);
  };
  auto norm = [&](const std::string& name) {
    model.norm(name + ".weight", shape.width);
    model.bias(name + ".bias", shape.width);
  };
  model.matrix("token_embd.weight", shape.vocabulary, shape.width);
  model.matrix("position_embd.weight", kPositions, shape.width);
  model.matrix("token_types.weight", 1, shape.width);
  norm("token_embd_norm");
  for (uint32_t l = 0; l < shape.layers; ++l) {
    std::string layer = "blk." + std::to_string(l) + ".";
    for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      linear(layer + part, shape.width, shape.width);
    }
    norm(layer + "attn_output_norm");
    linear(layer + "ffn_up", shape.ffn, shape.width);
    linear(layer + "ffn_down", shape.width, shape.ffn);
    norm(layer + "layer_output_norm");
  }
  return writer.finish();
}

}  // namespace hearth
