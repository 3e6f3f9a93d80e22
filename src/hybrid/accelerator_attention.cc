// The attention of AcceleratorLayers: products, norms of heads, rotary positions, and the positions
// that rows see.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "hybrid/accelerator_layers.h"

namespace hearth {
namespace {

// Calls act(KV head, query heads, query heads that share a KV head) for each call that a shard's
// heads need. KV heads are counted from the shard's first. One call is enough where the shard has
// all query heads of each of its KV heads. If the shard begins or ends between query heads of one
// KV head, there is a call for each KV head.
template <typename Act>
void for_head_calls(const UnitRange& queries, const UnitRange& kv, uint32_t group, const Act& act) {
  if (queries.begin == kv.begin * group && queries.end == kv.end * group) {
    act(0u, queries, group);
    return;
  }
  for (uint32_t i = 0; i < kv.size(); ++i) {
    const uint32_t head = kv.begin + i;
    const UnitRange own{std::max(queries.begin, head * group),
                        std::min(queries.end, (head + 1) * group)};
    act(i, own, own.size());
  }
}

}  // namespace

AcceleratorLayers::Projected AcceleratorLayers::project(const AttentionBlock& block, ValueId input,
                                                        uint32_t s) {
  const WeightTable& table = weights_.model().weights();
  const Shard& queries = table.matrix(block.query.weight).shards[s];
  const Shard& keys = table.matrix(block.key.weight).shards[s];
  const ValueId q = linear(input, block.query, s, true);
  const ValueId k = linear(input, block.key, s, false);
  const ValueId v = linear(input, block.value, s, false);
  bool ordered = true;
  add_bias(block.query, s, q, &ordered);
  add_bias(block.key, s, k, &ordered);
  add_bias(block.value, s, v, &ordered);
  const uint32_t d = block.key_length;
  return {s,
          {{queries.row0 / d, (queries.row0 + queries.spec.rows) / d},
           {keys.row0 / d, (keys.row0 + keys.spec.rows) / d}},
          q,
          k,
          v};
}

void AcceleratorLayers::finish(const AttentionBlock& block, const Projected& of,
                               Partials* partials) {
  if (block.norms && block.norms->span == HeadNormSpan::kHead) {
    norm_heads(block.norms->query, of.q, of.heads.queries.size(), block.key_length);
    norm_heads(block.norms->key, of.k, of.heads.kv.size(), block.key_length);
  }
  if (block.rope) {
    turn(block, of.q, of.heads.queries.size());
    turn(block, of.k, of.heads.kv.size());
  }
  if (pages_ != nullptr) store(block, of);
  if (pages_ != nullptr && is_last_layer()) return;
  const Weight& output = weights_.model().weights().matrix(block.output.weight);
  const ValueId heads =
      pages_ != nullptr ? attend_pages(block, of) : attend(block, of.heads, of.q, of.k, of.v);
  add_partial(partials, heads, output, of.shard);
}

// Makes the commands of an attention block, shard by shard. If a norm spans all heads of a row,
// this first projects the queries and keys of all shards, then norms them together, and then makes
// the rest of each shard.
Partials AcceleratorLayers::make(const AttentionBlock& block, ValueId input) {
  const WeightTable& table = weights_.model().weights();
  Partials partials = partials_of(block.output);
  const bool by_row = block.norms && block.norms->span == HeadNormSpan::kRow;
  std::vector<Projected> waiting;
  for (uint32_t s = 0; s < table.matrix(block.output.weight).shards.size(); ++s) {
    if (table.matrix(block.query.weight).shards[s].spec.rows == 0) continue;
    const Projected of = project(block, input, s);
    if (by_row) {
      waiting.push_back(of);
    } else {
      finish(block, of, &partials);
    }
  }
  filled_ = pages_ != nullptr && is_last_layer();
  if (!by_row) return partials;
  std::vector<HeadRows> queries, keys;
  for (const Projected& of : waiting) {
    queries.push_back({of.q, of.heads.queries});
    keys.push_back({of.k, of.heads.kv});
  }
  norm_rows(block.norms->query, queries, block.heads, block.key_length);
  norm_rows(block.norms->key, keys, block.kv_heads, block.key_length);
  for (const Projected& of : waiting) finish(block, of, &partials);
  return partials;
}

// Norms rows over all heads. If several shards have the same KV head, this takes the moments of the
// first shard's copy, since the copies are equal.
void AcceleratorLayers::norm_rows(const NormRef& by, const std::vector<HeadRows>& parts,
                                  uint32_t heads, uint32_t length) {
  const WeightTable& table = weights_.model().weights();
  const Place weight = weights_.vector(&table.vector(by.weight));
  const Place bias = weights_.vector(table.optional_vector(by.bias));
  const FloatRows moments = values_[add_value(2 * heads)].rows;
  uint32_t measured = 0;
  for (const HeadRows& part : parts) {
    if (part.heads.end <= measured) continue;
    HEARTH_CHECK(part.heads.begin <= measured, "shards have heads in their order");
    const uint32_t first = std::max(part.heads.begin, measured);
    const FloatRows of_heads = {moments.at + 2 * first * sizeof(float), moments.stride};
    commands_.add(HeadMomentsCall{.x = head_rows(part.x, first - part.heads.begin, length),
                                  .rows = step_.rows(),
                                  .heads = part.heads.end - first,
                                  .length = length,
                                  .centred = by.kind == NormKind::kLayer,
                                  .out = of_heads},
                  measured == 0);
    measured = part.heads.end;
  }
  HEARTH_CHECK(measured == heads, "shards have all heads");
  for (size_t i = 0; i < parts.size(); ++i) {
    const uint64_t own = uint64_t{parts[i].heads.begin} * length * sizeof(float);
    const FloatRows rows = values_[parts[i].x].rows;
    commands_.add(NormByCall{.x = rows,
                             .moments = moments,
                             .weight = weight + own,
                             .bias = bias ? bias + own : Place{},
                             .rows = step_.rows(),
                             .n = parts[i].heads.size() * length,
                             .heads = heads,
                             .length = length,
                             .eps = by.eps,
                             .out = rows},
                  i == 0);
  }
}

void AcceleratorLayers::norm_heads(const NormRef& by, ValueId x, uint32_t heads, uint32_t length) {
  const Place weight = weights_.vector(&weights_.model().weights().vector(by.weight));
  for (uint32_t h = 0; h < heads; ++h) {
    const FloatRows rows = head_rows(x, h, length);
    commands_.add(NormCall{.x = rows,
                           .weight = weight,
                           .rows = step_.rows(),
                           .n = length,
                           .eps = by.eps,
                           .out = rows},
                  h == 0);
  }
}

void AcceleratorLayers::turn(const AttentionBlock& block, ValueId x, uint32_t heads) {
  const Place angles = angles_of(*block.rope);
  const uint32_t n_rot = block.rope->n_rot;
  commands_.add(RopeCall{.x = values_[x].rows,
                         .rows = step_.rows(),
                         .heads = heads,
                         .head_stride = block.key_length,
                         .cos = angles,
                         .sin = angles + uint64_t{step_.rows()} * (n_rot / 2) * sizeof(float),
                         .n_rot = n_rot,
                         .layout = block.rope->layout});
}

ValueId AcceleratorLayers::attend(const AttentionBlock& block, const Heads& heads, ValueId q,
                                  ValueId k, ValueId v) {
  const ValueId out = add_value(heads.queries.size() * block.value_length);
  AttendCall call{.rows_of = rows_seen(block.mask, block.window),
                  .rows = step_.rows(),
                  .step_rows = step_.rows(),
                  .key_length = block.key_length,
                  .value_length = block.value_length,
                  .scale = block.scale};
  std::vector<float> slopes;
  if (block.max_alibi > 0) slopes = alibi_slopes(block.heads, block.max_alibi);
  for_head_calls(heads.queries, heads.kv, block.group_size(),
                 [&](uint32_t kv_head, const UnitRange& queries, uint32_t group) {
                   const uint32_t first = queries.begin - heads.queries.begin;
                   call.heads = queries.size();
                   call.group = group;
                   call.q = head_rows(q, first, block.key_length);
                   call.k = head_rows(k, kv_head, block.key_length);
                   call.v = head_rows(v, kv_head, block.value_length);
                   call.out = head_rows(out, first, block.value_length);
                   if (!slopes.empty()) {
                     const std::span<const float> own(&slopes[queries.begin], queries.size());
                     call.slopes = commands_.input(std::as_bytes(own));
                   }
                   commands_.add(call, kv_head == 0);
                 });
  return out;
}

Place AcceleratorLayers::angles_of(const RopeParams& rope) {
  for (const auto& [of, place] : angles_) {
    if (*of == rope) return place;
  }
  const RopeTable table = make_rope_table(rope, context_);
  const size_t half = table.inverse_frequency.size(), rows = step_.rows();
  std::vector<float> angles(2 * rows * half);
  for (size_t r = 0; r < rows; ++r) {
    rope_angles(table, step_.positions[r], &angles[r * half], &angles[(rows + r) * half]);
  }
  const Place place = commands_.input(std::as_bytes(std::span(angles)));
  angles_.emplace_back(&rope, place);
  return place;
}

// Returns the place of the rows' slots, which are page * 64 + slot.
Place AcceleratorLayers::slots() {
  if (slots_) return slots_;
  std::vector<uint32_t> slots;
  for (uint32_t r = 0; r < step_.rows(); ++r) {
    slots.push_back(pages_->first_pages[step_.row_items[r]] * kPagePositions + step_.positions[r]);
  }
  return slots_ = commands_.input(std::as_bytes(std::span(slots)));
}

void AcceleratorLayers::store(const AttentionBlock& block, const Projected& of) {
  commands_.add(KvStoreCall{
      .k = values_[of.k].rows,
      .v = values_[of.v].rows,
      .slots = slots(),
      .rows = step_.rows(),
      .pages = pages_->pages->of(of.shard, layer_, block.key_length, block.value_length)});
}

ValueId AcceleratorLayers::attend_pages(const AttentionBlock& block, const Projected& of) {
  const ValueId out = add_value(of.heads.queries.size() * block.value_length);
  uint32_t positions = 0;
  uint64_t seen = 0;
  for (const StepItem& item : step_.items) {
    positions = std::max(positions, item.first_position + item.rows);
    for (uint32_t i = 1; i <= item.rows; ++i) {
      const uint32_t all = item.first_position + i;
      seen += block.window != 0 ? std::min(all, block.window) : all;
    }
  }
  PagedAttendCall call{
      .rows_of = rows_seen(block.mask, block.window),
      .rows = step_.rows(),
      .positions = positions,
      .seen = seen,
      .scale = block.scale,
      .pages = pages_->pages->of(of.shard, layer_, block.key_length, block.value_length)};
  for_head_calls(of.heads.queries, of.heads.kv, block.group_size(),
                 [&](uint32_t kv_head, const UnitRange& queries, uint32_t group) {
                   const uint32_t first = queries.begin - of.heads.queries.begin;
                   call.heads = queries.size();
                   call.group = group;
                   call.kv_head0 = kv_head;
                   call.q = head_rows(of.q, first, block.key_length);
                   call.out = head_rows(out, first, block.value_length);
                   commands_.add(call, kv_head == 0);
                 });
  return out;
}

Place AcceleratorLayers::rows_seen(Mask mask, uint32_t window) {
  const auto [at, fresh] = seen_.try_emplace({mask, window});
  if (!fresh) return at->second;
  std::vector<AttendRow> rows;
  std::vector<PagedRow> paged;
  for (size_t t = 0; t < step_.items.size(); ++t) {
    const StepItem& item = step_.items[t];
    for (uint32_t i = 0; pages_ != nullptr && i < item.rows; ++i) {
      const uint32_t last = item.first_position + i;
      const bool cut = window != 0 && last >= window;
      paged.push_back({pages_->first_pages[t], cut ? last - window + 1 : 0, last, 0});
    }
    for (uint32_t i = 0; pages_ == nullptr && i < item.rows; ++i) {
      AttendRow row{item.first_row, i, 0, item.rows - 1};
      if (mask == Mask::kCausal) row.last = i;
      if (window != 0 && row.last >= window) row.first = row.last - window + 1;
      rows.push_back(row);
    }
  }
  at->second = pages_ != nullptr ? commands_.input(std::as_bytes(std::span(paged)))
                                 : commands_.input(std::as_bytes(std::span(rows)));
  return at->second;
}

}  // namespace hearth
