// Makes models for tests, fuzzers and tools: from a description, the keys and tensors of a GGUF
// file, with the names that llama.cpp's converter would give them.
//
//   TestSource made = made_source({.architecture = "qwen3", .layers = 2});
//   ModelSource source = made.add("blk.0.attn_q.weight", {64, 64}, DType::kQ8_0).source();
//
// An architecture is a line of kKinds (test_model.cc); a new feature is a field of that line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "formats/test_source.h"
#include "tensor/dtype.h"

namespace hearth {

// The sizes of multi-head latent attention; a value's head has value_length elements, and
// key_length is not used. `nope_length` and `rope_length` are the nope and rope parts of a head.
struct ModelLatents {
  uint32_t q_lora_rank = 40;  // 0: queries are projected from the hidden state
  uint32_t kv_lora_rank = 48, nope_length = 24, rope_length = 16;
};

// The sizes of experts: every layer after the first `dense` ones has them, unless count is 0.
struct ModelExperts {
  uint32_t count = 0, chosen = 2, ffn = 32;
  uint32_t shared = 0;
  uint32_t dense = 0;
};

// The sizes of layers with a recurrent state. Every `interval`th layer has attention instead. In a
// model with fewer layers than `interval`, the last layer has it.
struct ModelDelta {
  uint32_t keys = 2, values = 4, length = 16, taps = 4;
  uint32_t interval = 4;
};

// The place of an FFN's gate: as is usual for the architecture; in a separate matrix; above the up
// matrix in one matrix; or nowhere, without a gate.
enum class UpForm : uint8_t { kUsual, kOwnGate, kGateAbove, kNoGate };

struct LayerForm {
  UpForm up = UpForm::kUsual;  // encoders only
  bool wide_norms = false;     // norms over all heads, and a second norm: jina's model for code
};

// The biases of linear layers: as the architecture has them, none, or all that it may have.
enum class Biases : uint8_t { kUsual, kNone, kAll };

struct ModelShape {
  std::string_view architecture = "llama";
  uint32_t layers = 1, width = 64, heads = 4, kv_heads = 2;
  uint32_t key_length = 16, value_length = 16;
  uint32_t ffn = 96, vocabulary = 100, context = 4096;
  uint32_t window = 0;             // 0: attention sees all positions
  bool tied = true;                // the embedding table gives logits, too
  DType type = DType::kF32;        // of the layers' matrices
  DType table_type = DType::kF32;  // of the embedding table and the head
  ModelLatents latents = {};
  ModelExperts experts = {};
  ModelDelta delta = {};
  uint32_t per_layer = 0;  // gemma4: elements of a token's own embedding in each layer
  // Only encoders have these:
  uint32_t token_types = 2;
  std::optional<uint32_t> pooling = {};  // as in GGUF; none: the file has no such key
  std::optional<bool> fused = {};        // Q, K and V are one matrix; none: as is usual
  Biases biases = Biases::kUsual;
  std::span<const LayerForm> forms = {};  // one for each layer, if layers differ from the usual
};

TestSource made_source(const ModelShape& shape);

}  // namespace hearth
