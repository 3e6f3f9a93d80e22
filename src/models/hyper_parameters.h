// The hyper-parameters of a transformer, read from the metadata of its source and checked against
// what kernels and ops were built for.
#pragma once

#include <cstdint>
#include <string>

#include "formats/model_source.h"
#include "kernels/rope/rope.h"

namespace hearth {

struct HyperParameters {
  uint32_t layers = 0;
  uint32_t width = 0;                         // embedding_length
  uint32_t ffn = 0;                           // feed_forward_length
  uint32_t heads = 0;                         // query heads
  uint32_t kv_heads = 0;                      // GQA: heads is a multiple of it
  uint32_t key_length = 0, value_length = 0;  // of a head
  uint32_t vocabulary = 0;
  uint32_t context = 0;  // what the model was trained for
  uint32_t window = 0;   // sliding attention window; 0: none
  float norm_eps = 1e-5f;
  float attention_scale = 0;
  RopeParams rope;

  uint32_t group_size() const { return heads / kv_heads; }
};

// Reads what all architectures share from the keys `<architecture>.*`; an architecture then sets
// what is its own (the layout of RoPE). Throws (kFile) naming the key and what is wrong with it,
// and (kUnsupported) for what this engine cannot run, such as a mixture of experts.
HyperParameters read_hyper_parameters(const ModelSource& source);

}  // namespace hearth
