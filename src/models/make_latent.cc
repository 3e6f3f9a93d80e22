#include <algorithm>
#include <cmath>

#include "kernels/attention/latent.h"
#include "models/axis_cutting.h"
#include "models/make_blocks.h"

namespace hearth {
namespace {

void refuse_old_tensors(const SpecBuilder& m) {
  if (m.has("blk.0.attn_k_b.weight") || !m.has("blk.0.attn_kv_b.weight")) return;
  fail(ErrorCode::kUnsupported,
       "'{}' has tensors attn_kv_b instead of attn_k_b and attn_v_b: it was converted by an old "
       "program; convert the model again with a new one",
       m.source().name());
}

// Returns the elements of low-rank queries; 0: the model has none.
uint32_t read_q_lora_rank(const ModelKeys& keys) {
  constexpr const char* kKey = "attention.q_lora_rank";
  return keys.number_or(kKey, 0) == 0 ? 0 : keys.count(kKey, ModelMost::kWidth);
}

// Reads the lengths of heads, from the keys that end in _mla. key_length and value_length without
// that are the lengths of [c | k_rope] and of c in the cache.
void read_sizes(const ModelKeys& keys, LatentBlock* block) {
  block->heads = keys.count("attention.head_count", ModelMost::kHeads);
  const uint32_t kv_heads = keys.count_or("attention.head_count_kv", 1, ModelMost::kHeads);
  if (kv_heads != 1) keys.refuse("attention.head_count_kv", kv_heads, "1");
  block->kv_lora_rank = keys.count("attention.kv_lora_rank", kMaxLatentValue);
  block->key_length = keys.count("attention.key_length_mla", kMaxHeadDim);
  block->value_length = keys.count("attention.value_length_mla", kMaxHeadDim);
}

// Reads RoPE for q_rope and k_rope. If the file says how YaRN scales scores (yarn_log_multiplier),
// sines and cosines are not scaled.
void settle_positions(const ModelKeys& keys, LatentBlock* block) {
  RopeParams& rope = block->rope;
  if (rope.n_rot >= block->key_length || rope.n_rot > kMaxLatentKey - kMaxLatentValue) {
    keys.refuse("rope.dimension_count", rope.n_rot,
                fmt::format("less than the head's {}, and at most {}", block->key_length,
                            kMaxLatentKey - kMaxLatentValue));
  }
  auto need = [&](const char* key, uint32_t wanted) {
    const uint32_t said = keys.number_or(key, wanted);
    if (said != wanted) keys.refuse(key, said, fmt::format("{}", wanted));
  };
  need("attention.key_length", block->kv_lora_rank + rope.n_rot);
  need("attention.value_length", block->kv_lora_rank);
  double growth = 0;
  if (rope.scaling == RopeScaling::kYarn) {
    growth = keys.non_negative_or("rope.scaling.yarn_log_multiplier", 0);
  }
  if (growth > 0) rope.yarn_growth = 0;
  const double magnitude = 1 + growth * std::log(std::max(1.0, rope.factor));
  block->scale = static_cast<float>(
      magnitude * magnitude *
      keys.real_or("attention.scale", 1 / std::sqrt(static_cast<double>(block->key_length))));
}

// Returns the axis of the query heads. All heads read the same latents, so the heads of a unit must
// only make whole blocks of 32 results.
AxisId latent_heads(SpecBuilder& m, const LatentBlock& block) {
  return m.axis(
      {.name = "heads", .items = block.heads, .unit_items = block_granule(1, block.value_length)});
}

void name_queries(SpecBuilder& m, uint32_t layer, uint32_t q_lora_rank, AxisId heads,
                  LatentBlock* block) {
  const auto l = static_cast<int>(layer);
  auto query = [&](const char* name, uint32_t k) {
    return m.matrix(l, {.member = "q",
                        .name = layer_tensor(layer, name),
                        .rows = block->heads * block->key_length,
                        .k = k,
                        .axis = heads,
                        .item_size = block->key_length});
  };
  if (q_lora_rank == 0) {
    block->query = query("attn_q.weight", m.hyper().width);
    return;
  }
  block->query_down = m.replicated(
      l, {"q_a", layer_tensor(layer, "attn_q_a.weight"), q_lora_rank, m.hyper().width});
  block->query_norm =
      m.norm(l, NormKind::kRms, "q_a_norm", layer_tensor(layer, "attn_q_a_norm"), q_lora_rank);
  block->query = query("attn_q_b.weight", q_lora_rank);
}

void name_latents(SpecBuilder& m, uint32_t layer, AxisId heads, LatentBlock* block) {
  const auto l = static_cast<int>(layer);
  const uint32_t rope_length = block->rope.n_rot;
  auto name = [&](const char* of) { return layer_tensor(layer, of); };
  block->latent_down = m.replicated(l, {"kv_a", name("attn_kv_a_mqa.weight"),
                                        block->kv_lora_rank + rope_length, m.hyper().width});
  block->latent_norm =
      m.norm(l, NormKind::kRms, "kv_a_norm", name("attn_kv_a_norm"), block->kv_lora_rank);
  block->key_up = m.stacked(l, {.member = "k_b",
                                .name = name("attn_k_b.weight"),
                                .rows = block->kv_lora_rank,
                                .k = block->key_length - rope_length,
                                .axis = heads});
  block->value_up = m.stacked(l, {.member = "v_b",
                                  .name = name("attn_v_b.weight"),
                                  .rows = block->value_length,
                                  .k = block->kv_lora_rank,
                                  .axis = heads});
  // Some converters write attn_kv_b beside attn_k_b and attn_v_b, which hold the same values.
  m.says_nothing_new(name("attn_kv_b.weight"));
  block->output = m.matrix(l, {.member = "o",
                               .name = name("attn_output.weight"),
                               .rows = m.hyper().width,
                               .k = block->heads * block->value_length,
                               .cut = WeightCut::kColumns,
                               .axis = heads,
                               .item_size = block->value_length});
}

}  // namespace

LatentBlock make_latent_attention(SpecBuilder& m, uint32_t layer, RopeLayout rope) {
  refuse_old_tensors(m);
  const ModelKeys keys = m.keys(layer);
  if (!keys.flag_or("attention.causal", true)) keys.refuse("attention.causal", false, "true");
  LatentBlock block;
  const uint32_t q_lora_rank = read_q_lora_rank(keys);
  read_sizes(keys, &block);
  block.rope = read_rope(m, layer, rope, block.key_length);
  settle_positions(keys, &block);
  const AxisId heads = latent_heads(m, block);
  name_queries(m, layer, q_lora_rank, heads, &block);
  name_latents(m, layer, heads, &block);
  return block;
}

}  // namespace hearth
