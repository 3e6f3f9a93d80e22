#include "graph/ops/head_norms.h"

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/kv_pages.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

// A head's column in its group's row of Q, K and V, its column in that group's row of moments, and
// its number among the model's heads.
struct HeadPlace {
  uint32_t column, moments, head, shard;
};

// The places of all query heads and key heads of a group.
struct GroupHeads {
  std::vector<HeadPlace> queries, keys;

  uint32_t count() const { return static_cast<uint32_t>(queries.size() + keys.size()); }
};

GroupHeads heads_of(const std::vector<HeadSlice>& slices, uint32_t length) {
  GroupHeads heads;
  uint32_t moments = 0;
  auto add = [&](std::vector<HeadPlace>* to, UnitRange range, uint32_t column, uint32_t shard) {
    for (uint32_t i = 0; i < range.size(); ++i) {
      to->push_back({column + i * length, moments, range.begin + i, shard});
      moments += 2;
    }
  };
  for (const HeadSlice& slice : slices) {
    add(&heads.queries, slice.queries, slice.q_column, slice.shard);
    add(&heads.keys, slice.kv, slice.k_column, slice.shard);
  }
  return heads;
}

class HeadMomentsOp : public Op {
 public:
  HeadMomentsOp(ValueId qkv, ValueId moments, GroupHeads heads, uint32_t length, bool centred)
      : qkv_(qkv),
        moments_(moments),
        heads_(std::move(heads)),
        length_(length),
        centred_(centred) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    load.shared_bytes = sizeof(float) * double(step.rows) * heads_.count() * (length_ + 2);
    return load;
  }
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.rows(qkv_));
    for (uint32_t r = range.begin; r < range.end; ++r) {
      const float* row = context.f32(qkv_) + r * context.f32_stride(qkv_);
      float* moments = context.f32(moments_) + r * context.f32_stride(moments_);
      auto measure = [&](const HeadPlace& head) {
        HeadMoments measured;
        context.kernels().head_moments({row + head.column, length_, centred_, &measured});
        moments[head.moments] = measured.mean;
        moments[head.moments + 1] = measured.squares;
      };
      for (const HeadPlace& head : heads_.queries) measure(head);
      for (const HeadPlace& head : heads_.keys) measure(head);
    }
  }

 private:
  ValueId qkv_, moments_;
  GroupHeads heads_;
  uint32_t length_;
  bool centred_;  // layer norms: the mean is taken off
};

// The place of one head's moments; listed for all of the model's heads in order.
struct MomentsPlace {
  ValueId value;
  uint32_t column;
};

struct NormPart {
  NormWeight norm;
  std::vector<HeadPlace> own;
  std::vector<MomentsPlace> all;
};

class HeadNormOp : public Op {
 public:
  HeadNormOp(ValueId qkv, NormPart queries, NormPart keys, uint32_t length)
      : qkv_(qkv), parts_{std::move(queries), std::move(keys)}, length_(length) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    load.rows.rows = step.rows;
    load.rows.read_bytes.assign(step.graph.plan.group_count(), 0);
    for (const NormPart& part : parts_) {
      load.rows.elements += static_cast<uint32_t>(part.own.size()) * length_;
      for (const MomentsPlace& place : part.all) {
        load.rows.read_bytes[step.graph.values[place.value].group] += 2 * sizeof(float);
      }
    }
    load.shared_bytes = 2.0 * sizeof(float) * step.rows * load.rows.elements;
    return load;
  }
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.rows(qkv_));
    for (uint32_t r = range.begin; r < range.end; ++r) {
      for (const NormPart& part : parts_) norm_heads(context, part, r);
    }
  }

 private:
  static HeadMoments moments(ExecutionContext& context, const MomentsPlace& place,
                             uint32_t row) noexcept {
    const float* at =
        context.f32(place.value) + row * context.f32_stride(place.value) + place.column;
    return {at[0], at[1]};
  }

  void norm_heads(ExecutionContext& context, const NormPart& part, uint32_t row) const noexcept {
    const RowScale scale =
        row_scale_of(static_cast<uint32_t>(part.all.size()), length_, part.norm.eps,
                     [&](uint32_t h) { return moments(context, part.all[h], row); });
    for (const HeadPlace& head : part.own) {
      float* x = context.f32(qkv_) + row * context.f32_stride(qkv_) + head.column;
      const size_t first = size_t{head.head} * length_;
      const float* weight = part.norm.weight->copies[head.shard] + first;
      const float* bias = part.norm.bias ? part.norm.bias->copies[head.shard] + first : nullptr;
      context.kernels().norm_by({x, weight, bias, length_, scale.mean, scale.r, x});
    }
  }

  ValueId qkv_;
  NormPart parts_[2];
  uint32_t length_;
};

// Returns the places of the moments of each of the model's heads. Shards that share a KV head have
// equal moments, so the first shard's are taken.
std::vector<MomentsPlace> places_of(const std::vector<GroupHeads>& groups,
                                    std::vector<HeadPlace> GroupHeads::*kind, const Bundle& moments,
                                    uint32_t count) {
  std::vector<MomentsPlace> places(count);
  std::vector<bool> there(count, false);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const HeadPlace& head : groups[g].*kind) {
      if (there[head.head]) continue;
      there[head.head] = true;
      places[head.head] = {moments.values[g], head.moments};
    }
  }
  for (bool found : there) HEARTH_CHECK(found, "some group has each head");
  return places;
}

}  // namespace

void whole_head_norms(GraphBuilder& builder, const std::string& name, const LinearOut& qkv,
                      const AttentionShape& shape, const NormWeight& queries,
                      const NormWeight& keys) {
  HEARTH_CHECK(!shape.gated, "heads that are normed together lie side by side");
  std::vector<GroupHeads> groups;
  std::vector<uint32_t> widths;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    groups.push_back(heads_of(head_slices(qkv, g, shape), shape.key_length));
    widths.push_back(2 * std::max(1u, groups[g].count()));
  }
  Bundle moments = builder.add_values(RowSet::kTokens, widths);
  builder.reads(qkv.bundle, ActFormat::kF32);
  builder.writes(moments);
  HEARTH_CHECK(queries.kind == keys.kind, "both norms are of one kind");
  const bool centred = queries.kind == NormKind::kLayer;
  builder.append(Mode::kParallel, name + "_moments", op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<HeadMomentsOp>(qkv.bundle.values[g], moments.values[g],
                                                          groups[g], shape.key_length, centred);
                 }));
  auto all_queries =
      places_of(groups, &GroupHeads::queries, moments, shape.kv_heads * shape.group_size);
  auto all_keys = places_of(groups, &GroupHeads::keys, moments, shape.kv_heads);
  builder.reads(qkv.bundle, ActFormat::kF32, Reads::kOwn);
  builder.reads(moments, ActFormat::kF32);
  builder.append(Mode::kReduce, name, op_per_group(builder, [&](uint32_t g) {
                   NormPart q{queries, groups[g].queries, all_queries};
                   NormPart k{keys, groups[g].keys, all_keys};
                   return std::make_unique<HeadNormOp>(qkv.bundle.values[g], std::move(q),
                                                       std::move(k), shape.key_length);
                 }));
}

}  // namespace hearth
