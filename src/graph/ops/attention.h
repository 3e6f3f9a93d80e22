// Attention over paged keys and values, tensor parallel by query head: a shard holds the keys and
// values of every KV head that it has query heads of, so that it reads no other shard's.
//
// Keys and values are cached for steps to come, in the KV cache's pages and type, or kept for the
// step alone, as f32 in activation memory: then a row sees rows of its own item and no others.
//
// A thread computes the results of a granule of KV heads for some rows in a tile of
// kAttentionTileFloats; a shape of which one row is larger has no attention
// (attention_tile_fits()).
#pragma once

#include <vector>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "kernels/rope/rope.h"

namespace hearth {

enum class KvKept : uint8_t { kCached, kForStep };
// kCausal: a row sees the positions up to its own. kBidirectional: all up to its item's last row.
enum class Mask : uint8_t { kCausal, kBidirectional };

// Queries at a position p are multiplied by 1 + growth ln(floor(p / span) + 1), so that scores stay
// as sharp over long texts (Llama 4's temperature, as Ministral 3 has it). growth 0: not at all.
struct QueryTemperature {
  float growth = 0;
  uint32_t span = 0;  // above 0 where growth is
  float at(uint32_t position) const;
};

struct AttentionShape {
  uint32_t layer;         // of the KV cache, where keys and values are cached
  uint32_t kv_heads;      // of the whole model
  uint32_t group_size;    // query heads per KV head (GQA, Ainslie et al. 2023)
  uint32_t key_length;    // elements of a head's keys and queries
  uint32_t value_length;  // of its values and results
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
  // ALiBi's slope of each of the model's query heads (alibi_slopes()): a score loses that much for
  // each position between its row and its key, on either side. Empty: none.
  std::vector<float> slopes = {};
  QueryTemperature temperature = {};
  // [query heads of the model] or null: each head's sink, a score that every row sees beside those
  // of positions, and that has no value (kernels/attention/attention.h).
  const VectorWeight* sinks = nullptr;
  // Each query head's row has a gate's row behind it, by whose sigmoid its result is multiplied;
  // keys and values have one length then.
  bool gated = false;
  // The epsilon of an RMS norm without a weight that every value head's row gets; 0: there is none.
  float value_norm_eps = 0;
  // Values are what keys are before their norm and RoPE; both have one length then.
  bool values_of_keys = false;
  // Whether the layer stores keys and values; else it has queries alone, and `layer` is the one
  // that stored them.
  bool stores = true;

  // Elements from a query head's row to the next one's.
  uint32_t query_stride() const { return gated ? 2 * key_length : key_length; }
};

// The slopes of so many heads (Press et al. 2022), as powers of 2: with n the largest power of 2
// not above `heads`, 2^(-max_bias (h + 1) / n) for the first n heads h; then, for heads n + i,
// 2^(-max_bias (2 i + 1) / (2 n)). max_bias: 8 in the paper.
std::vector<float> alibi_slopes(uint32_t heads, float max_bias);

// Whether one row of results of a granule of KV heads fits a thread's tile.
inline constexpr size_t kAttentionTileFloats = kOpTileBytes / 4 / sizeof(float);
constexpr bool attention_tile_fits(const AttentionShape& shape) {
  return uint64_t{shape.granule} * shape.group_size * shape.value_length <= kAttentionTileFloats;
}

// Norms the fused Q, K, V rows in place (parts 0, 1, 2 of `qkv`, of which some may be one), turns
// them by the angles of each row (not where n_rot is 0), and puts keys and values into their pages,
// where the layer stores some. Returns these where they are kept for the step: [pages] of all of a
// group's KV heads; else a bundle of nothing. Parallel.
Bundle rope_and_store(GraphBuilder& builder, std::string name, const LinearOut& qkv,
                      const Bundle& angles, const AttentionShape& shape);

// softmax(scale Q K^T) V of every row over what the mask lets it see, in the columns and format
// that `output` (column-cut on the axis of Q's rows) reads. `kv`: what rope_and_store() returned.
// Parallel.
Bundle attention(GraphBuilder& builder, std::string name, const LinearOut& qkv, const Bundle& kv,
                 const AttentionShape& shape, const Weight& output);

}  // namespace hearth
