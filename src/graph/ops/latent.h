// Multi-head latent attention (MLA, DeepSeek-V2, 2024), absorbed. For each position the cache holds
// one latent c, of which the keys and values of all heads are made, and k_rope, the part of the
// keys that RoPE turns. With a head's query [q_nope | q_rope] and its matrices W_UK and W_UV, all
// heads attend to the same latents (kernels/attention/latent.h):
//
//   q' = W_UK^T q_nope
//   a  = softmax(scale (q' c + q_rope k_rope)), over positions
//   o  = W_UV (sum of a c)
//
// For expanded rows the op makes each head's keys and values of the latents instead, once for many
// rows:
//
//   k = [W_UK c | k_rope],  v = W_UV c
//   o = sum of softmax(scale q k) v
//
// StepItem says which rows are expanded; a step's size never does. So a row's bits follow only from
// its sequence.
//
// Attention is tensor parallel by query head. The projections that lead to the latent are small,
// and every group computes them for itself. Every shard with heads keeps the latents. Groups that
// share a shard each write and read a separate copy there, since no group waits for another.
//
// The result of a row depends on the row, the latents that it sees and how the heads are cut. It
// does not depend on the thread that computes it or on other rows of the step.
#pragma once

#include <string>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "graph/ops/rows.h"
#include "kernels/rope/rope.h"

namespace hearth {

struct LatentShape {
  uint32_t layer;         // of the KV cache
  uint32_t kv_lora_rank;  // elements of a latent
  uint32_t rope_length;   // of the part that RoPE turns, of keys and queries, behind it
  uint32_t nope_length;   // of a head's query before the part that is turned
  uint32_t value_length;  // of a head's values
  float scale;            // of scores
  RopeLayout rope;
  NormWeight latent_norm;

  uint32_t cached_length() const { return kv_lora_rank + rope_length; }
  uint32_t query_length() const { return nope_length + rope_length; }
};

// The matrices of all heads, row-cut on one axis. A head has query_length rows of `query` [.., k],
// kv_lora_rank rows of `key` (W_UK^T) [.., nope_length], and value_length rows of `value`
// (W_UV) [.., kv_lora_rank]. `output` is column-cut on the axis.
struct LatentMatrices {
  const Weight& query;
  const Weight& key;
  const Weight& value;
  const Weight& output;
};

// Norms the latents c of `down`, turns k_rope behind them, and stores both. Part `latent` of `down`
// holds [c | k_rope]. With a `query_norm`, part 0 holds low-rank queries, and their norm is
// returned, in the formats its readers ask for. Else nothing is returned. Parallel.
Bundle latent_store(GraphBuilder& builder, std::string name, const LinearOut& down, size_t latent,
                    const Bundle& angles, const LatentShape& shape, const NormWeight* query_norm);

// Returns every head's query in f32. For absorbed rows it is [q' | q_rope], to be multiplied with
// latents: kv_lora_rank + rope_length elements. For expanded rows it is [q_nope | q_rope], to be
// multiplied with keys. `x` is the input of `query`. Parallel.
Bundle latent_queries(GraphBuilder& builder, std::string name, const Bundle& x,
                      const Bundle& angles, const LatentShape& shape,
                      const LatentMatrices& matrices);

// Replaces the query of every head by o, [value_length], in expanded rows. Parallel; the next node
// may run beside it.
void latent_expanded_attention(GraphBuilder& builder, std::string name, const Bundle& queries,
                               const LatentShape& shape, const LatentMatrices& matrices);

// Returns softmax(scale Q L^T) L of absorbed rows over the latents up to their own position:
// [kv_lora_rank] of every head, padded to 32, in the format that `value` reads. Parallel.
Bundle latent_attention(GraphBuilder& builder, std::string name, const Bundle& queries,
                        const LatentShape& shape, const LatentMatrices& matrices);

// Returns o in the columns and the format that `output` reads: for absorbed rows W_UV times each
// head's weighted sum of latents (`mixes`), for expanded rows the results in `queries`. Parallel.
Bundle latent_values(GraphBuilder& builder, std::string name, const Bundle& mixes,
                     const Bundle& queries, const LatentShape& shape,
                     const LatentMatrices& matrices);

}  // namespace hearth
