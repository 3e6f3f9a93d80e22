// The parts of a layer, as data: blocks. Each block reads the stream (the residual) and adds to it.
// A block holds its own sizes, positions, mask, activation, norms, and weights as members. The
// function that makes a block (models/make_blocks.h) declares its weights when it names them. So
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

// The index of a weight in ModelSpec::weights; kNone if a model lacks an optional weight.
struct WeightId {
  static constexpr uint32_t kNone = ~0u;
  uint32_t index = kNone;
  explicit operator bool() const { return index != kNone; }
};

// y = W x + bias; the bias may be none.
struct LinearRef {
  WeightId weight = {}, bias = {};
};

// A norm; a layer norm's bias may be none.
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

// Self-attention in which every KV head has keys and values of its own (graph/ops/attention.h).
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
  // Each query head's rows in `query` are followed by as many rows of a gate: the head's result is
  // multiplied by sigmoid(gate).
  bool gated = false;
  // If above 0, each head's values are normed by an RMS norm without a weight and with this
  // epsilon.
  float value_norm_eps = 0;
  // The layer whose keys and values this block reads; it then makes none itself.
  std::optional<uint32_t> keys_of = {};

  // Returns whether values are the keys before their norm and RoPE: the block has a key matrix and
  // no value matrix.
  bool has_values_of_keys() const { return key.weight && !value.weight; }
  uint32_t group_size() const { return heads / kv_heads; }
};

// Multi-head latent attention (graph/ops/latent.h). In place of keys and values the layer keeps [c
// | k_rope] of each position: the latent c, and the part of the keys that RoPE turns.
struct LatentBlock {
  uint32_t heads = 0;
  uint32_t key_length = 0, value_length = 0;  // of a head
  uint32_t kv_lora_rank = 0;
  float scale = 0;
  RopeParams rope;  // of the turned part: n_rot elements
  // The matrix and the norm of low-rank queries, from which `query` makes the heads' queries. None:
  // `query` reads the input.
  WeightId query_down;
  std::optional<NormRef> query_norm;
  WeightId latent_down;
  NormRef latent_norm;
  WeightId query, key_up, value_up, output;
};

// A gated delta rule (graph/ops/delta_net.h), with a state in place of keys and values. Weights of
// value heads are one matrix each, or one for each value head of a key head (DeltaHeads).
struct DeltaBlock {
  DeltaHeads heads = {};
  uint32_t length = 0;  // of a head's keys and of its values
  uint32_t taps = 0;    // of the convolution
  WeightId query, key;
  std::vector<WeightId> value, gate;
  std::vector<WeightId> alpha, beta;  // without beta, alpha holds both: a key head's betas first
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

// Computes down(activation(gate x) * up x) or, without a gate, down(activation(up x)).
struct FeedForwardBlock {
  Activation activation = Activation::kSilu;
  LinearRef gate = {};  // none if there is no gate
  LinearRef up = {}, down = {};
};

// Experts: SwiGLU layers, of which a router chooses some for each token (graph/ops/experts.h).
struct ExpertsBlock {
  struct Expert {
    WeightId gate, up, down;
  };
  RouterRule rule = {};
  WeightId router = {}, router_bias = {};  // the bias of its logits may be none
  WeightId bias = {};                      // added to scores only to choose experts, or none
  std::vector<Expert> experts = {};
  std::optional<Expert> shared = {};  // the expert that every token takes
  Activation activation = Activation::kSilu;
  // Biases of the routed experts, [experts][rows]; or none.
  WeightId gate_bias = {}, up_bias = {}, down_bias = {};
  // [1][width]: the shared expert's weight is sigmoid(shared_gate x); none: 1.
  WeightId shared_gate = {};
  // The norm of the stream that the router reads; none: it reads the same input as the experts.
  std::optional<NormRef> router_norm = {};
  WeightId scales = {};  // factors of the routed experts' weights, [experts]; or none
};

// A layer's use of its part P of PerLayerInputs: output(gelu(gate x) * P) (graph/ops/per_layer.h).
struct PerLayerBlock {
  WeightId gate, output;  // [length][width], [width][length]
};

// How a block reads the stream x and how its result r joins it:
//
//   before   the block reads before(x); none: x
//   behind   r becomes behind(r) first
//   outer    r becomes outer(held + r) then, with the result held by the block before (Gemma 4)
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
// They are made of two parts: a projection of the stream's start, divided by the root of the width,
// and the token's row of a table that stays in its file.
struct PerLayerInputs {
  uint32_t length = 0;                  // of a layer's part
  WeightId projection = {};             // [layers * length][width]
  NormRef norm = {};                    // [length]
  const SourceTensor* table = nullptr;  // a row of layers * length for every token
};

// The start of the stream: norm(scale * token's row + position's row + type's row). All parts but
// the token's row may be missing. Tokens have the first type, except those of a pair's second text
// if there is a second type.
struct EmbeddingBlock {
  WeightId token, positions, type, second_type;
  float scale = 1;
  std::optional<NormRef> norm;
  std::optional<PerLayerInputs> per_layer = {};
};

// The head that scores a text's row x (its row of logits in other models): out(tanh(dense x)), or
// out(x) without a dense part. With two rows of `out` the score is row `yes` less the other row.
struct ScoreBlock {
  LinearRef dense, out;
  uint32_t out_rows = 1, yes = 0;
};

}  // namespace hearth
