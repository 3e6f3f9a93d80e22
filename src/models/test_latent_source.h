// Dense models with latent attention for tests that need no weights, as llama.cpp's converter would
// write them.
#pragma once

#include <string>

#include "models/test_source.h"

namespace hearth {

// The shape of a deepseek2 model of dense layers, every layer alike.
struct LatentModelShape {
  uint32_t layers = 1, width = 64, heads = 4, ffn = 96, vocabulary = 100, context = 4096;
  uint32_t query_rank = 40;  // 0: queries are made of the row itself
  uint32_t latent = 48, straight = 24, turned = 16, value = 32;
};

inline TestSource latent_source(const LatentModelShape& shape) {
  TestSource source;
  source.set("general.architecture", "deepseek2");
  auto key = [&](const char* name, uint32_t value) {
    source.set(std::string("deepseek2.") + name, value);
  };
  key("block_count", shape.layers);
  key("embedding_length", shape.width);
  key("feed_forward_length", shape.ffn);
  key("context_length", shape.context);
  key("leading_dense_block_count", shape.layers);
  key("attention.head_count", shape.heads);
  key("attention.head_count_kv", 1);
  if (shape.query_rank > 0) key("attention.q_lora_rank", shape.query_rank);
  key("attention.kv_lora_rank", shape.latent);
  key("attention.key_length", shape.latent + shape.turned);
  key("attention.value_length", shape.latent);
  key("attention.key_length_mla", shape.straight + shape.turned);
  key("attention.value_length_mla", shape.value);
  key("rope.dimension_count", shape.turned);
  source.add("token_embd.weight", {shape.width, shape.vocabulary});
  source.add("output_norm.weight", {shape.width});
  const uint64_t queries = uint64_t{shape.heads} * (shape.straight + shape.turned);
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    auto add = [&](const char* name, std::vector<uint64_t> dims) {
      source.add(layer_tensor(layer, name), std::move(dims));
    };
    add("attn_norm.weight", {shape.width});
    if (shape.query_rank > 0) {
      add("attn_q_a.weight", {shape.width, shape.query_rank});
      add("attn_q_a_norm.weight", {shape.query_rank});
      add("attn_q_b.weight", {shape.query_rank, queries});
    } else {
      add("attn_q.weight", {shape.width, queries});
    }
    add("attn_kv_a_mqa.weight", {shape.width, shape.latent + shape.turned});
    add("attn_kv_a_norm.weight", {shape.latent});
    add("attn_k_b.weight", {shape.straight, shape.latent, shape.heads});
    add("attn_v_b.weight", {shape.latent, shape.value, shape.heads});
    add("attn_output.weight", {uint64_t{shape.heads} * shape.value, shape.width});
    add("ffn_norm.weight", {shape.width});
    add("ffn_gate.weight", {shape.width, shape.ffn});
    add("ffn_up.weight", {shape.width, shape.ffn});
    add("ffn_down.weight", {shape.ffn, shape.width});
  }
  return source;
}

}  // namespace hearth
