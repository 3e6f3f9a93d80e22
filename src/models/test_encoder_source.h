// Encoders for tests that need no weights, as llama.cpp's converter would write them.
#pragma once

#include <string>

#include "models/test_source.h"

namespace hearth {

// The shape of an encoder, every layer alike. What is fused, and what is there at all, follows the
// architecture: `bert` has three tensors for Q, K and V, `nomic-bert` one, `jina-bert-v2` three,
// and gate and up in two.
struct EncoderShape {
  std::string architecture = "bert";
  uint32_t layers = 1, width = 48, heads = 3, ffn = 70, vocabulary = 100, context = 40, types = 2;
  DType type = DType::kF32;

  uint32_t head() const { return width / heads; }
};

inline TestSource encoder_source(const EncoderShape& shape) {
  TestSource source;
  const std::string& arch = shape.architecture;
  const uint32_t d = shape.width;
  source.set("general.architecture", arch);
  source.set(arch + ".block_count", shape.layers).set(arch + ".embedding_length", d);
  source.set(arch + ".feed_forward_length", shape.ffn);
  source.set(arch + ".context_length", shape.context);
  source.set(arch + ".attention.head_count", shape.heads);
  source.set(arch + ".attention.layer_norm_epsilon", 1e-12f);
  source.set(arch + ".attention.causal", false);
  source.set(arch + ".pooling_type", uint32_t{2});
  source.set("tokenizer.ggml.token_type_count", shape.types);
  auto norm = [&](const std::string& name) {
    source.add(name + ".weight", {d}).add(name + ".bias", {d});
  };
  auto linear = [&](const std::string& name, uint32_t rows, uint32_t k, bool bias) {
    source.add(name + ".weight", {k, rows}, shape.type);
    if (bias) source.add(name + ".bias", {rows});
  };
  source.add("token_embd.weight", {d, shape.vocabulary}, shape.type);
  source.add("token_types.weight", {d, shape.types});
  if (arch == "bert") source.add("position_embd.weight", {d, shape.context});
  norm("token_embd_norm");
  const bool nomic = arch == "nomic-bert";
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    auto name = [&](const char* role) { return layer_tensor(layer, role); };
    if (nomic) {
      linear(name("attn_qkv"), 3 * d, d, false);
    } else {
      for (const char* role : {"attn_q", "attn_k", "attn_v"}) linear(name(role), d, d, true);
    }
    linear(name("attn_output"), d, d, !nomic);
    norm(name("attn_output_norm"));
    if (arch != "bert") linear(name("ffn_gate"), shape.ffn, d, false);
    linear(name("ffn_up"), shape.ffn, d, arch == "bert");
    linear(name("ffn_down"), d, shape.ffn, !nomic);
    norm(name("layer_output_norm"));
  }
  return source;
}

}  // namespace hearth
