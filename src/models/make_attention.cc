#include <algorithm>
#include <array>
#include <cmath>

#include "models/axis_cutting.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

// The largest exponent of an ALiBi slope: a slope of 2^-64 or less changes no score.
constexpr double kMaxAlibiBias = 64;

// Reads the sizes of heads. In models with both kinds of layers, layers that see a window may have
// head lengths of their own.
void read_head_sizes(const ModelKeys& keys, uint32_t width, const AttentionOptions& options,
                     AttentionBlock* block) {
  block->heads = keys.count("attention.head_count", ModelMost::kHeads);
  block->kv_heads = keys.count_or("attention.head_count_kv", block->heads, ModelMost::kHeads);
  if (block->heads % block->kv_heads != 0) {
    keys.refuse("attention.head_count_kv", block->kv_heads,
                fmt::format("a divisor of the {} heads", block->heads));
  }
  const uint32_t even = std::max(1u, width / block->heads);
  block->key_length = keys.count_or("attention.key_length", even, kMaxHeadDim);
  block->value_length = keys.count_or("attention.value_length", block->key_length, kMaxHeadDim);
  if (options.window == Window::kLocal) {
    block->key_length = keys.count_or("attention.key_length_swa", block->key_length, kMaxHeadDim);
    block->value_length =
        keys.count_or("attention.value_length_swa", block->value_length, kMaxHeadDim);
  }
  const double score_length = options.score_length == 0 ? block->key_length : options.score_length;
  block->scale = static_cast<float>(keys.real_or("attention.scale", 1.0 / std::sqrt(score_length)));
}

// Refuses heads whose results for one position do not fit a thread's tile (attention_tile_fits()).
void check_tile(const std::string& source, const AttentionBlock& block) {
  AttentionShape shape{};
  shape.group_size = block.group_size();
  shape.value_length = block.value_length;
  shape.granule = block_granule(block.group_size(), block.value_length);
  if (attention_tile_fits(shape)) return;
  fail(ErrorCode::kUnsupported,
       "'{}' has {} query heads for {} KV heads of {} elements: the queries that share a KV head "
       "have more than {} elements, which this version does not support",
       source, block.heads, block.kv_heads, block.value_length, kAttentionTileFloats);
}

// Sets the block's mask and window. `all` are the keys of the whole model: attention is causal in
// all layers or in none. Throws Error (kUnsupported) for a window without causal attention.
void read_mask(const ModelKeys& all, const ModelKeys& keys, bool encoder, AttentionBlock* block) {
  const bool causal = all.flag_or("attention.causal", !encoder);
  if (causal && encoder) keys.refuse("attention.causal", true, "false");
  block->window = keys.number_or("attention.sliding_window", 0);
  if (causal) return;
  block->mask = Mask::kBidirectional;
  block->kept = KvKept::kForStep;
  if (block->window == 0) return;
  fail(ErrorCode::kUnsupported,
       "'{}' has a sliding window of {} positions in bidirectional attention, which this version "
       "does not support",
       keys.source().name(), block->window);
}

float read_alibi(const ModelKeys& keys) {
  const double most = keys.real_or("attention.max_alibi_bias", 8);
  if (most > kMaxAlibiBias) keys.refuse("attention.max_alibi_bias", most, "at most 64");
  return static_cast<float>(most);
}

// Checks that a layer has heads of the same shape as the layer whose keys and values it reads.
void check_same_heads(SpecBuilder& m, uint32_t layer, const AttentionOptions& options,
                      const AttentionBlock& block) {
  AttentionBlock other;
  read_head_sizes(m.keys(*options.keys_of), m.hyper().width, options, &other);
  auto sizes = [](const AttentionBlock& of) {
    return std::array{of.heads, of.kv_heads, of.key_length, of.value_length};
  };
  if (sizes(other) == sizes(block)) return;
  fail(ErrorCode::kFile,
       "'{}': layer {} has {} heads for {} KV heads of {} and {} elements, but shares keys and "
       "values of layer {}, which has {} heads for {} KV heads of {} and {}: the file is damaged "
       "or made for another program",
       m.source().name(), layer, block.heads, block.kv_heads, block.key_length, block.value_length,
       *options.keys_of, other.heads, other.kv_heads, other.key_length, other.value_length);
}

// Marks as known the key and value tensors of a layer that uses another layer's keys and values.
void know_unused_keys(SpecBuilder& m, uint32_t layer) {
  for (const char* name : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"}) {
    m.says_nothing_new(layer_tensor(layer, name));
  }
}

void name_projections(SpecBuilder& m, uint32_t layer, const AttentionOptions& options,
                      AttentionBlock* block) {
  const uint32_t query_length = block->key_length * (block->gated ? 2 : 1);
  const uint32_t queries = block->heads * query_length;
  const uint32_t keys = block->kv_heads * block->key_length;
  const uint32_t values = block->kv_heads * block->value_length;
  const auto [heads, kv_heads] = m.head_axes(block->heads, block->kv_heads, block->value_length);
  const std::string fused = layer_tensor(layer, "attn_qkv");
  const bool in_one = m.has(fused + ".weight");
  const auto l = static_cast<int>(layer);
  auto rows = [&](const char* member, const char* name, uint32_t first, uint32_t count, AxisId axis,
                  uint32_t length) {
    const MatrixPlace own{.member = member,
                          .name = layer_tensor(layer, name),
                          .rows = count,
                          .k = m.hyper().width,
                          .axis = axis,
                          .item_size = length};
    return m.linear(l, in_one ? own.within(fused, first, queries + keys + values) : own);
  };
  block->query = rows("q", "attn_q", 0, queries, heads, query_length);
  const bool has_values =
      !options.values_may_be_keys || in_one || m.has(layer_tensor(layer, "attn_v.weight"));
  if (!options.keys_of) {
    block->key = rows("k", "attn_k", queries, keys, kv_heads, block->key_length);
    if (has_values) {
      block->value = rows("v", "attn_v", queries + keys, values, kv_heads, block->value_length);
    } else if (block->value_length != block->key_length) {
      m.keys(layer).refuse(
          "attention.value_length", block->value_length,
          fmt::format("the key length {}, as there is no attn_v", block->key_length));
    }
  }
  block->output = m.linear(l, {.member = "o",
                               .name = layer_tensor(layer, "attn_output"),
                               .rows = m.hyper().width,
                               .k = block->heads * block->value_length,
                               .cut = WeightCut::kColumns,
                               .axis = heads,
                               .item_size = block->value_length});
}

std::optional<HeadNorms> make_head_norms(SpecBuilder& m, uint32_t layer, QkNorms norms,
                                         const AttentionBlock& block) {
  const std::string query = layer_tensor(layer, "attn_q_norm");
  const std::string key = layer_tensor(layer, "attn_k_norm");
  if (norms == QkNorms::kNone) return {};
  const bool queries = m.has(query + ".weight"), keys = m.has(key + ".weight");
  const bool layer_rows = norms == QkNorms::kLayerRowsWhereThere;
  const bool where_there = norms == QkNorms::kHeadsWhereThere || layer_rows;
  if (where_there && !queries && !keys) return {};
  if (layer_rows && queries != keys) {
    fail(ErrorCode::kFile,
         "'{}' normalises the {} of layer {} but not the {}: the file is damaged or made for "
         "another program",
         m.source().name(), queries ? "queries" : "keys", layer, queries ? "keys" : "queries");
  }
  const bool rows = norms == QkNorms::kRows || layer_rows;
  const NormKind kind = layer_rows ? NormKind::kLayer : NormKind::kRms;
  const auto l = static_cast<int>(layer);
  if (block.keys_of) {
    return HeadNorms{HeadNormSpan::kHead, m.norm(l, kind, "q_norm", query, block.key_length), {}};
  }
  return HeadNorms{rows ? HeadNormSpan::kRow : HeadNormSpan::kHead,
                   m.norm(l, kind, "q_norm", query, block.key_length * (rows ? block.heads : 1)),
                   m.norm(l, kind, "k_norm", key, block.key_length * (rows ? block.kv_heads : 1))};
}

}  // namespace

Window window_of(SpecBuilder& m, uint32_t layer, uint32_t period) {
  constexpr const char* kPattern = "attention.sliding_window_pattern";
  const ModelKeys keys = m.keys(layer);
  const bool windowed =
      keys.is_per_layer(kPattern)
          ? keys.flag_or(kPattern, false)
          : (layer + 1) % keys.count_or(kPattern, period, ModelMost::kLayers) != 0;
  return windowed && keys.number_or("attention.sliding_window", 0) > 0 ? Window::kLocal
                                                                       : Window::kNone;
}

AttentionBlock make_attention(SpecBuilder& m, uint32_t layer, const AttentionOptions& options) {
  const ModelKeys keys = m.keys(layer);
  AttentionBlock block;
  read_head_sizes(keys, m.hyper().width, options, &block);
  check_tile(m.source().name(), block);
  read_mask(m.keys(), keys, options.encoder, &block);
  if (options.window == Window::kNone) block.window = 0;
  block.gated = options.gated;
  if (block.gated && block.value_length != block.key_length) {
    keys.refuse("attention.value_length", block.value_length,
                fmt::format("the key length {}, as the gate has", block.key_length));
  }
  if (options.positions == Positions::kRope) {
    const auto read = options.window == Window::kLocal ? read_local_rope : read_rope;
    block.rope = read(m, layer, options.rope, block.key_length);
  }
  if (options.positions == Positions::kAlibi) block.max_alibi = read_alibi(keys);
  if (options.value_norms) block.value_norm_eps = m.epsilon();
  block.keys_of = options.keys_of;
  if (block.keys_of) {
    check_same_heads(m, layer, options, block);
    know_unused_keys(m, layer);
  }
  name_projections(m, layer, options, &block);
  block.norms = make_head_norms(m, layer, options.norms, block);
  if (options.sinks) {
    block.sinks = m.vector(static_cast<int>(layer), "sinks",
                           layer_tensor(layer, "attn_sinks.weight"), block.heads);
  }
  return block;
}

}  // namespace hearth
