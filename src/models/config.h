// The hyper-parameters of a decoder-only transformer, read from a GGUF file's metadata and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "kernels/rope/rope.h"

namespace hearth {

struct DecoderConfig {
  std::string architecture;
  uint32_t layers = 0;
  uint32_t width = 0;     // embedding_length
  uint32_t ffn = 0;       // feed_forward_length
  uint32_t heads = 0;     // query heads
  uint32_t kv_heads = 0;  // GQA: heads is a multiple of it
  uint32_t head_dim = 0;
  uint32_t vocabulary = 0;
  uint32_t context = 0;  // what the model was trained for
  uint32_t window = 0;   // sliding attention window; 0: none
  float norm_eps = 1e-5f;
  float attention_scale = 0;
  bool qk_norm = false;
  RopeParams rope;

  uint32_t group_size() const { return heads / kv_heads; }
  // How many runs of so many query heads make whole blocks of 32 columns of the output projection.
  uint32_t block_granule(uint32_t query_heads) const;
};

// Reads what all architectures share from the keys `<architecture>.*`; an architecture then sets
// what is its own (RoPE layout, q/k norms). Throws (kFile) naming the key and what is wrong with
// it, and (kUnsupported) for what this engine cannot run, such as a mixture of experts.
DecoderConfig read_decoder_config(const GgufFile& file);

}  // namespace hearth
