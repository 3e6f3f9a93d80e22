// Multi-head latent attention (MLA, DeepSeek-V2, 2024), absorbed: the cache holds, for each
// position, one latent c that keys and values of all heads are made of, and one part k_rope of the
// keys that RoPE turns. With a head's query [q_nope | q_rope], its matrix W_UK of keys and its
// matrix W_UV of values, all heads attend to the same latents (kernels/attention/latent.h):
//
//   q' = W_UK^T q_nope
//   a  = softmax(scale (q' c + q_rope k_rope)), over positions
//   o  = W_UV (sum of a c)
//
// The rows that a step's items call expanded do make their keys and values, a head's for all of
// them at once, and attend to these. StepItem says which, the step's size never does: so a row's
// bits follow from its sequence alone.
//
// Tensor parallel by query head; what leads to the latent is small, and every group computes it by
// itself. Every shard with heads keeps the latents. Groups that share a shard write and read a copy
// of their own there, since no group waits for another.
//
// The result of a row depends on the row, the latents that it sees and how the heads are cut, not
// on who computes it or who else is in the step.
#pragma once

#include <string>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "graph/ops/rows.h"
#include "kernels/rope/rope.h"

namespace hearth {

struct LatentShape {
  uint32_t layer;            // of the KV cache
  uint32_t latent_length;    // elements of a latent
  uint32_t turned_length;    // of the keys' and queries' part behind it that RoPE turns
  uint32_t straight_length;  // of a head's query before the part that is turned
  uint32_t value_length;     // of a head's values
  float scale;               // of scores
  RopeLayout rope;
  NormWeight latent_norm;

  uint32_t cached_length() const { return latent_length + turned_length; }
  uint32_t query_length() const { return straight_length + turned_length; }
};

// The matrices of heads, row-cut on one axis: a head has query_length rows of `query` [.., k],
// latent_length rows of `key` [.., straight_length], value_length rows of `value` [..,
// latent_length]. `output` is column-cut on the axis.
struct LatentMatrices {
  const Weight& query;
  const Weight& key;
  const Weight& value;
  const Weight& output;
};

// Norms the latents of `down`, turns the part behind them and stores both. Part `latent` of `down`
// is that of the latents; where there is a `query_norm`, part 0 is that of low-rank queries, and
// its norm is returned, in the formats its readers ask for; else nothing. Parallel.
Bundle latent_store(GraphBuilder& builder, std::string name, const LinearOut& down, size_t latent,
                    const Bundle& angles, const LatentShape& shape, const NormWeight* query_norm);

// Returns every head's queries in f32: absorbed, [latent_length | turned_length], to be multiplied
// with latents; for expanded rows [straight_length | turned_length], for keys. `x` is the input of
// `query`. Parallel.
Bundle latent_queries(GraphBuilder& builder, std::string name, const Bundle& x,
                      const Bundle& angles, const LatentShape& shape,
                      const LatentMatrices& matrices);

// softmax(scale Q K^T) V of the expanded rows, K and V made of the latents: [value_length] of every
// head in place of its query. Parallel; what follows may run beside it.
void latent_expanded_attention(GraphBuilder& builder, std::string name, const Bundle& queries,
                               const LatentShape& shape, const LatentMatrices& matrices);

// softmax(scale Q L^T) L of every other row over the latents up to its own position:
// [latent_length] of every head, padded to 32, in the format that `value` reads. Parallel.
Bundle latent_attention(GraphBuilder& builder, std::string name, const Bundle& queries,
                        const LatentShape& shape, const LatentMatrices& matrices);

// Returns W_UV times each head's weighted sum of latents (`mixes`), and for expanded rows the
// results that lie in `queries`, in the columns and the format that `output` reads. Parallel.
Bundle latent_values(GraphBuilder& builder, std::string name, const Bundle& mixes,
                     const Bundle& queries, const LatentShape& shape,
                     const LatentMatrices& matrices);

}  // namespace hearth
