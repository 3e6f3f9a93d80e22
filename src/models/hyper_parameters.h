// The hyper-parameters of a transformer, read from the metadata of its source and checked against
// what kernels and ops were built for.
//
// Keys of encoders are those that llama.cpp's converter writes: attention.causal (false),
// attention.layer_norm_epsilon, pooling_type; attention.max_alibi_bias is read where it is there.
#pragma once

#include <cstdint>
#include <string>

#include "formats/model_source.h"
#include "graph/ops/routing.h"
#include "kernels/rope/rope.h"

namespace hearth {

// How an architecture tells positions apart: by turning queries and keys (RoPE), by a learned row
// for each (position_embd), or by what a score loses for the distance (ALiBi).
enum class PositionKind : uint8_t { kRope, kTable, kAlibi };

// How a text's hidden states become one vector, by GGUF's numbers: nothing is said, their mean, the
// first one, the last one, or a score of how well two texts fit (of rerankers).
enum class PoolingType : uint8_t { kNone, kMean, kCls, kLast, kRank };
const char* pooling_name(PoolingType pooling);  // "mean"

// What an architecture says of itself before its hyper-parameters are read.
struct ArchitectureKind {
  bool encoder = false;  // layer norms, and no causal mask
  PositionKind positions = PositionKind::kRope;
  // Whether some layers may have experts, and how these are chosen where the file does not say.
  bool experts = false;
  Gating gating = Gating::kSoftmax;
  bool normalised = false;
  bool latent = false;  // multi-head latent attention (graph/ops/latent.h)
};

// Feed-forward layers of experts, of which a router chooses some for each token.
struct ExpertParameters {
  uint32_t count = 0;          // 0: all layers are dense
  uint32_t leading_dense = 0;  // layers before the first one with experts
  uint32_t ffn = 0;            // of an expert
  uint32_t shared_ffn = 0;     // of the experts that every token takes, side by side; 0: none
  RouterRule router;

  bool in_layer(uint32_t layer) const { return count > 0 && layer >= leading_dense; }
};

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
  // Of latent attention: elements of low-rank queries (0: there are none) and of latents.
  uint32_t query_rank = 0, latent_length = 0;
  float norm_eps = 1e-5f;
  float attention_scale = 0;
  bool causal = true;  // a row sees nothing that comes after it
  PoolingType pooling = PoolingType::kNone;
  ExpertParameters experts;
  uint32_t skipped_layers = 0;  // behind the others, for predicting several tokens; not run
  uint32_t token_types = 0;     // rows of token_types.weight; 0: there is no such tensor
  PositionKind positions = PositionKind::kRope;
  RopeParams rope;      // of kRope; else n_rot is 0
  float max_alibi = 0;  // of kAlibi: the exponent of the last head's slope, negated

  uint32_t group_size() const { return heads / kv_heads; }
};

// Reads what all architectures share from the keys `<architecture>.*`; an architecture then sets
// what is its own (the layout of RoPE). Throws (kFile) naming the key and what is wrong with it,
// and (kUnsupported) for what this engine cannot run.
HyperParameters read_hyper_parameters(const ModelSource& source, const ArchitectureKind& kind = {});

}  // namespace hearth
