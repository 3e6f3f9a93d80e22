#include <algorithm>
#include <cmath>

#include "graph/context.h"
#include "graph/ops/kv_pages.h"

namespace hearth {
namespace {

// A task is a row and a KV head: the group's query heads of it, its key and its value.
class RopeStoreOp : public Op {
 public:
  RopeStoreOp(ValueId qkv, std::optional<ValueId> angles, GroupKvPages pages,
              std::vector<HeadSlice> heads, const AttentionShape& shape)
      : qkv_(qkv),
        angles_(angles),
        pages_(std::move(pages)),
        heads_(std::move(heads)),
        shape_(shape),
        ones_(shape.value_norm_eps > 0 ? shape.value_length : 0, 1.0f) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    for (const HeadSlice& slice : heads_) {
      // The heads are rotated in place, so they are read and written.
      const uint32_t heads = slice.queries.size() + (shape_.stores ? slice.kv.size() : 0);
      load.shared_bytes += 2.0 * sizeof(float) * step.rows * shape_.key_length * heads;
    }
    return load;
  }

  uint32_t counters() const override { return static_cast<uint32_t>(heads_.size()); }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    // A thread takes runs of rows, so that prefill claims seldom and decode spreads its heads over
    // the threads.
    uint32_t rows = context.rows(qkv_), run = std::min(rows, 16u);
    uint32_t runs = (rows + run - 1) / run;
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      uint32_t heads = heads_[local_shard].kv.size(), count = heads * runs;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        uint32_t first = t / heads * run;
        for (uint32_t r = first; r < std::min(rows, first + run); ++r) {
          run_head(context, local_shard, t % heads, r, reinterpret_cast<float*>(worker.scratch));
        }
      }
    }
  }

 private:
  void run_head(ExecutionContext& context, uint32_t local_shard, uint32_t head, uint32_t row,
                float* scratch) const noexcept {
    const HeadSlice& heads = heads_[local_shard];
    float* base = context.f32(qkv_) + row * context.f32_stride(qkv_);
    const StepView& step = context.step();
    const StepItem& item = step.items[step.row_items[row]];
    const uint32_t position = pages_.first_position(item) + row - item.first_row;
    if (shape_.stores) store(context, local_shard, head, row, position, scratch);
    UnitRange queries = heads.queries_of(heads.kv.begin + head, shape_.group_size);
    const size_t q_stride = shape_.query_stride();
    float* q = base + heads.q_column + size_t{queries.begin - heads.queries.begin} * q_stride;
    const bool grows = shape_.temperature.growth != 0;
    const float factor = grows ? shape_.temperature.at(position) : 1;
    for (uint32_t i = 0; i < queries.size(); ++i, q += q_stride) {
      norm_and_rotate(context, q, shape_.q_norm, heads.shard, row);
      for (uint32_t e = 0; grows && e < shape_.key_length; ++e) q[e] *= factor;
    }
  }

  // Stores the key and the value of a head in their page.
  void store(ExecutionContext& context, uint32_t local_shard, uint32_t head, uint32_t row,
             uint32_t position, float* scratch) const noexcept {
    const HeadSlice& heads = heads_[local_shard];
    const uint32_t d = shape_.key_length, value_length = shape_.value_length;
    const StepView& step = context.step();
    const StepItem& item = step.items[step.row_items[row]];
    const KvType type = pages_.type(context);
    const uint32_t slot = position % kPagePositions;
    const KvPage page = pages_.page(context, local_shard, item, position / kPagePositions, head);
    // Prefetches for a single row only: each row of a prompt writes to the cache lines of the row
    // before.
    if (item.rows == 1) prefetch_slot(type, d, value_length, page, slot);
    float* base = context.f32(qkv_) + row * context.f32_stride(qkv_);
    float* k = base + heads.k_column + size_t{head} * d;
    float* v = base + heads.v_column + size_t{head} * value_length;
    if (shape_.values_of_keys) {
      std::copy_n(k, d, scratch);
      v = scratch;
    }
    if (shape_.value_norm_eps > 0) {
      context.kernels().rms_norm({v, ones_.data(), value_length, shape_.value_norm_eps, v});
    }
    norm_and_rotate(context, k, shape_.k_norm, heads.shard, row);
    context.kernels().kv_store[static_cast<size_t>(type)]({k, v, d, value_length, page, slot});
  }

  void norm_and_rotate(ExecutionContext& context, float* x, const VectorWeight* norm,
                       uint32_t shard, uint32_t row) const noexcept {
    if (norm) {
      context.kernels().rms_norm({x, norm->copies[shard], shape_.key_length, shape_.norm_eps, x});
    }
    if (!angles_) return;
    const float* cos = context.f32(*angles_) + row * context.f32_stride(*angles_);
    context.kernels().rope({x, cos, cos + shape_.n_rot / 2, shape_.n_rot, shape_.rope});
  }

  ValueId qkv_;
  std::optional<ValueId> angles_;
  GroupKvPages pages_;
  std::vector<HeadSlice> heads_;
  AttentionShape shape_;
  std::vector<float> ones_;  // the weight of a norm that has none
};

}  // namespace

float QueryTemperature::at(uint32_t position) const {
  return static_cast<float>(1 + double{growth} * std::log(position / span + 1.0));
}

Bundle rope_and_store(GraphBuilder& builder, std::string name, const LinearOut& qkv,
                      const Bundle& angles, const AttentionShape& shape) {
  const bool rotates = shape.n_rot > 0;
  Bundle kv;
  std::vector<std::vector<HeadSlice>> heads;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    heads.push_back(head_slices(qkv, g, shape));
    if (shape.kept == KvKept::kCached) continue;
    kv.values.push_back(
        builder.add_value(RowSet::kPages, GroupKvPages::row_floats(heads[g], shape), g));
  }
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    ops.push_back(std::make_unique<RopeStoreOp>(
        qkv.bundle.values[g], rotates ? std::optional(angles.values[g]) : std::nullopt,
        GroupKvPages(kv, g, heads[g], shape), heads[g], shape));
  }
  builder.reads(qkv.bundle, ActFormat::kF32);
  if (rotates) builder.reads(angles, ActFormat::kF32);
  builder.writes(kv);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return kv;
}

}  // namespace hearth
