// The parts of a layer, as data: blocks, each of which reads the stream of activations and adds to
// it. A block has all that is its own: sizes, positions, mask, activation, norms, and its weights
// as members. Whoever makes one (models/make_blocks.h) declares these weights as it names them, so
// sizes, cuts, packing, reports and the graph are made from the same members.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "formats/source_tensor.h"
#include "graph/ops/attention.h"
#include "graph/ops/delta_net.h"
#include "graph/ops/linear.h"
#include "graph/ops/rows.h"
#include "kernels/rope/rope.h"
#include "kernels/routing/routing.h"

namespace hearth {

// A weight by its place in ModelSpec::weights; none where a model lacks one that is optional.
struct WeightId {
  static constexpr uint32_t kNone = ~0u;
  uint32_t index = kNone;
  explicit operator bool() const { return index != kNone; }
};

// y = W x + bias; the bias may be none.
struct LinearRef {
  WeightId weight = {}, bias = {};
};

// The bias of a layer norm may be none.
struct NormRef {
  NormKind kind = NormKind::kRms;
  WeightId weight = {}, bias = {};
  float eps = 0;
};

// Norms of queries and keys: of every head by itself, or of all heads of a row together.
enum class HeadNormSpan : uint8_t { kHead, kRow };
struct HeadNorms {
  HeadNormSpan span = HeadNormSpan::kHead;
  NormRef query = {}, key = {};
};

// Self-attention with keys and values of their own for every KV head (graph/ops/attention.h).
struct AttentionBlock {
  uint32_t heads = 0, kv_heads = 0;           // heads is a multiple of kv_heads
  uint32_t key_length = 0, value_length = 0;  // of a head
  uint32_t window = 0;                        // sliding window of a causal mask; 0: none
  float scale = 0;                            // of scores
  Mask mask = Mask::kCausal;
  KvKept kept = KvKept::kCached;
  std::optional<RopeParams> rope = {};
  QueryTemperature temperature = {};
  float max_alibi = 0;  // the exponent of ALiBi's last slope, negated; 0: no ALiBi
  std::optional<HeadNorms> norms = {};
  WeightId sinks = {};  // of each query head, a score without a value; or none
  LinearRef query = {}, key = {}, value = {}, output = {};
  // `query` has rows of a gate behind those of each query head, as many; the head's result is
  // multiplied by the gate's sigmoid.
  bool gated = false;
  // The epsilon of an RMS norm without a weight that each head of values gets by itself; 0: none.
  float value_norm_eps = 0;
  // The layer whose keys and values are read; the block then has none of its own.
  std::optional<uint32_t> keys_of = {};

  // Whether values are the keys before their norm and RoPE: there is a key matrix and none of
  // values.
  bool has_values_of_keys() const { return key.weight && !value.weight; }
  uint32_t group_size() const { return heads / kv_heads; }
};

// Multi-head latent attention (graph/ops/latent.h): latents, and the part of the keys behind them
// that RoPE turns, are kept in place of keys and values.
struct LatentBlock {
  uint32_t heads = 0;
  uint32_t key_length = 0, value_length = 0;  // of a head
  uint32_t latent_length = 0;
  float scale = 0;
  RopeParams rope;  // of the turned part: n_rot elements
  // The matrix and the norm of low-rank queries, of which `query` makes the heads'; none: `query`
  // reads the input.
  WeightId query_down;
  std::optional<NormRef> query_norm;
  WeightId latent_down;
  NormRef latent_norm;
  WeightId query, key_up, value_up, output;
};

// A gated delta rule (graph/ops/delta_net.h): a state in place of keys and values. What is of the
// value heads is one matrix, or one for each of the value heads that a key head has (DeltaHeads).
struct DeltaBlock {
  DeltaHeads heads = {};
  uint32_t length = 0;  // of a head's keys and of its values
  uint32_t taps = 0;    // of the convolution
  WeightId query, key;
  std::vector<WeightId> value, gate;
  std::vector<WeightId> alpha, beta;  // no beta: alpha has both, of a key head its betas first
  WeightId conv;                      // [taps][queries, keys, values]
  WeightId bias, rate;                // [value heads]
  NormRef norm;
  WeightId output;
};

// A short convolution with gates (graph/ops/gated_conv.h): a state in place of keys and values.
struct ShortConvBlock {
  uint32_t taps = 0;
  WeightId before, after, input;  // B, C and X
  WeightId conv;                  // [taps][width]
  WeightId output;
};

// down(activation(gate x) * up x), or without a gate down(activation(up x)).
struct FeedForwardBlock {
  Activation activation = Activation::kSilu;
  LinearRef gate = {};  // none where nothing is gated
  LinearRef up = {}, down = {};
};

// SwiGLU layers of which a router chooses some for each token (graph/ops/experts.h).
struct ExpertsBlock {
  struct Expert {
    WeightId gate, up, down;
  };
  RouterRule rule = {};
  WeightId router = {}, router_bias = {};  // the bias is of its logits, and may be none
  WeightId bias = {};                      // added to scores for choosing alone, or none
  std::vector<Expert> experts = {};
  std::optional<Expert> shared = {};  // the expert that every token takes
  Activation activation = Activation::kSilu;
  // Biases of the routed experts, [experts][rows]; or none.
  WeightId gate_bias = {}, up_bias = {}, down_bias = {};
  WeightId shared_gate = {};  // [1][width]: it weighs the sigmoid of this; none: 1
  // The norm of the stream that the router reads; none: it reads what the experts do.
  std::optional<NormRef> router_norm = {};
  WeightId scales = {};  // of the routed experts' weights, [experts]; or none
};

// A layer's use of its part P of PerLayerInputs, by a gate: output(gelu(gate x) * P)
// (graph/ops/per_layer.h).
struct PerLayerBlock {
  WeightId gate, output;  // [length][width], [width][length]
};

// How a block reads the stream x and how its result r joins it:
//
//   before   the block reads before(x); none: x
//   behind   r becomes behind(r) first
//   outer    r becomes outer(r) then, with what a block before has held added to it (Gemma 4)
//   inner    r becomes inner(x + r) first (jina-bert-v2 for code)
//   after    the stream goes on as after(x + r); none: as x + r
//   scale    a number that x + r is multiplied by; none: 1
struct BlockNorms {
  std::optional<NormRef> before = {}, behind = {}, outer = {}, inner = {}, after = {};
  WeightId scale = {};
};

struct Block {
  std::variant<AttentionBlock, LatentBlock, DeltaBlock, ShortConvBlock, FeedForwardBlock,
               ExpertsBlock, PerLayerBlock>
      body;
  BlockNorms norms;
  // Whether the block's result, behind(r), is held for the next block of the layer, which reads the
  // same stream and joins both results.
  bool held = false;
};

struct Layer {
  std::vector<Block> blocks;
};

// Embeddings that every token has for each layer (Gemma 4); PerLayerBlock reads its layer's part.
// They are made of a projection of the start of the stream, divided by the root of the width, and
// of the token's row of a table that stays in its file.
struct PerLayerInputs {
  uint32_t length = 0;                  // of a layer's part
  WeightId projection = {};             // [layers * length][width]
  NormRef norm = {};                    // [length]
  const SourceTensor* table = nullptr;  // a row of layers * length for every token
};

// The start of the stream: the token's row times `scale`, plus that of its position, plus that of
// its type, and their norm; all but the first may be none. Tokens are of the first type but those
// of a pair's second text, where there is a second type.
struct EmbeddingBlock {
  WeightId token, positions, type, second_type;
  float scale = 1;
  std::optional<NormRef> norm;
  std::optional<PerLayerInputs> per_layer = {};
};

// The head that scores a text's row x, one of those that logits would be made of: out(tanh(dense
// x)), or out(x) without a dense part. `out` has one row, or two, and then the score is row `yes`
// less the other.
struct ScoreBlock {
  LinearRef dense, out;
  uint32_t out_rows = 1, yes = 0;
};

}  // namespace hearth
