// Attention over paged keys and values, tensor parallel by query head: a shard holds the keys and
// values of every KV head that it has query heads of, so that it reads no other shard's.
//
// Keys and values are cached for later steps, in the KV cache's pages and type, or kept only for
// the step, as f32 in activation memory. In the second case a row sees rows of its own item and no
// others.
//
// A thread computes the results of a granule of KV heads for some rows in a tile of
// kAttentionTileFloats. A shape is refused if one of its rows is larger (attention_tile_fits()).
#pragma once

#include <vector>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "kernels/rope/rope.h"

namespace hearth {

enum class KvKept : uint8_t { kCached, kForStep };
// kCausal: a row sees the positions up to its own. kBidirectional: all up to its item's last row.
enum class Mask : uint8_t { kCausal, kBidirectional };

// Queries at position p are multiplied by 1 + growth ln(floor(p / span) + 1), so that scores stay
// as sharp over long texts (Llama 4's temperature, as in Ministral 3). With growth 0 queries stay
// as they are.
struct QueryTemperature {
  float growth = 0;
  uint32_t span = 0;  // above 0 if growth is
  float at(uint32_t position) const;
};

struct AttentionShape {
  uint32_t layer;         // of the KV cache, if keys and values are cached
  uint32_t kv_heads;      // of the whole model
  uint32_t group_size;    // query heads per KV head (GQA, Ainslie et al. 2023)
  uint32_t key_length;    // elements of a head's keys and queries
  uint32_t value_length;  // of a head's values and results
  uint32_t granule;       // KV heads whose results together are whole blocks of 32
  uint32_t window;        // of a causal mask; 0: none
  float scale;
  RopeLayout rope;
  uint32_t n_rot;  // 0: no RoPE
  float norm_eps;
  const VectorWeight* q_norm;  // [key_length] or null: RMS norm of every head's row
  const VectorWeight* k_norm;
  KvKept kept = KvKept::kCached;
  Mask mask = Mask::kCausal;
  // ALiBi's slope of each of the model's query heads (alibi_slopes()). A score loses the slope for
  // each position between its row and its key, on either side. Empty: none.
  std::vector<float> slopes = {};
  QueryTemperature temperature = {};
  // [query heads of the model] or null: each head's sink, a score that every row sees beside those
  // of positions, and that has no value (kernels/attention/attention.h).
  const VectorWeight* sinks = nullptr;
  // Each query head's row is followed by the row of a gate: the head's result is multiplied by
  // sigmoid(gate). Keys and values then have one length.
  bool gated = false;
  // If above 0, every value head's row is normed by an RMS norm without a weight and with this
  // epsilon.
  float value_norm_eps = 0;
  // Values are the keys before their norm and RoPE; both then have the same length.
  bool values_of_keys = false;
  // Whether the layer stores keys and values. If not, it has only queries, and `layer` is the layer
  // whose keys and values they attend to.
  bool stores = true;

  // Returns the elements from a query head's row to the next one's.
  uint32_t query_stride() const { return gated ? 2 * key_length : key_length; }
};

// Returns the slopes of heads h (Press et al. 2022), as powers of 2. With n the largest power of 2
// not above `heads`, and max_bias 8 in the paper:
//   h < n:      2^(-max_bias (h + 1) / n)
//   h = n + i:  2^(-max_bias (2 i + 1) / (2 n))
std::vector<float> alibi_slopes(uint32_t heads, float max_bias);

// Returns whether one row of results of a granule of KV heads fits a thread's tile.
inline constexpr size_t kAttentionTileFloats = kOpTileBytes / 4 / sizeof(float);
constexpr bool attention_tile_fits(const AttentionShape& shape) {
  return uint64_t{shape.granule} * shape.group_size * shape.value_length <= kAttentionTileFloats;
}

// Norms the fused Q, K, V rows in place (parts 0, 1, 2 of `qkv`, some of which may be the same
// part), and turns them by the angles of each row unless n_rot is 0. If the layer stores keys and
// values, puts them into their pages. Returns pages that are kept for the step: [pages] of all of a
// group's KV heads. Else the bundle is empty. Parallel.
Bundle rope_and_store(GraphBuilder& builder, std::string name, const LinearOut& qkv,
                      const Bundle& angles, const AttentionShape& shape);

// Returns softmax(scale Q K^T) V of every row over the positions that the mask lets it see, in the
// columns and format that `output` (column-cut on the axis of Q's rows) reads. `kv`: the result of
// rope_and_store(). Parallel.
Bundle attention(GraphBuilder& builder, std::string name, const LinearOut& qkv, const Bundle& kv,
                 const AttentionShape& shape, const Weight& output);

}  // namespace hearth
