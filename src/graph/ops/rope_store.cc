#include <algorithm>

#include "graph/context.h"
#include "graph/ops/head_slices.h"

namespace hearth {
namespace {

// Tasks are (row, KV head): its query heads here, its key, its value.
class RopeStoreOp : public Op {
 public:
  RopeStoreOp(ValueId qkv, ValueId angles, std::vector<HeadSlice> heads,
              const AttentionShape& shape)
      : qkv_(qkv), angles_(angles), heads_(std::move(heads)), shape_(shape) {}

  uint32_t counters() const override { return static_cast<uint32_t>(heads_.size()); }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    // Runs of rows, so that prefill claims seldom and decode spreads its heads over the threads.
    uint32_t rows = context.rows(qkv_), run = std::min(rows, 16u);
    uint32_t runs = (rows + run - 1) / run;
    for (uint32_t slot : context.slots(worker.member)) {
      uint32_t heads = heads_[slot].kv.size(), count = heads * runs;
      for (uint32_t t; (t = context.claim(sync.counter0 + slot, count)) < count;) {
        uint32_t first = t / heads * run;
        for (uint32_t r = first; r < std::min(rows, first + run); ++r) {
          run_head(context, heads_[slot], t % heads, r);
        }
      }
    }
  }

 private:
  void run_head(ExecutionContext& context, const HeadSlice& heads, uint32_t head,
                uint32_t row) const noexcept {
    const uint32_t d = shape_.key_length, value_length = shape_.value_length;
    float* base = context.f32(qkv_) + row * context.f32_stride(qkv_);
    const StepView& step = context.step();
    const StepItem& item = step.items[step.row_items[row]];
    const KvType type = context.kv().type();
    uint32_t position = step.positions[row], slot = position % kPagePositions;
    KvPage page = context.kv().page(heads.shard, shape_.layer,
                                    item.pages[position / kPagePositions], heads.cached + head);
    // A prompt's rows write to the lines of the row before.
    if (item.rows == 1) prefetch_slot(type, d, value_length, page, slot);
    UnitRange queries = heads.queries_of(heads.kv.begin + head, shape_.group_size);
    float* q = base + heads.q_column + size_t{queries.begin - heads.queries.begin} * d;
    float* k = base + heads.k_column + size_t{head} * d;
    float* v = base + heads.v_column + size_t{head} * value_length;
    for (uint32_t i = 0; i < queries.size(); ++i) {
      norm_and_rotate(context, q + size_t{i} * d, shape_.q_norm, heads.shard, row);
    }
    norm_and_rotate(context, k, shape_.k_norm, heads.shard, row);
    context.kernels().kv_store[static_cast<size_t>(type)]({k, v, d, value_length, page, slot});
  }

  void norm_and_rotate(ExecutionContext& context, float* x, const VectorWeight* norm,
                       uint32_t shard, uint32_t row) const noexcept {
    if (norm) {
      context.kernels().rms_norm({x, norm->copies[shard], shape_.key_length, shape_.norm_eps, x});
    }
    const float* cos = context.f32(angles_) + row * context.f32_stride(angles_);
    context.kernels().rope({x, cos, cos + shape_.n_rot / 2, shape_.n_rot, shape_.rope});
  }

  ValueId qkv_, angles_;
  std::vector<HeadSlice> heads_;
  AttentionShape shape_;
};

}  // namespace

void rope_and_store(GraphBuilder& builder, std::string name, const LinearOut& qkv,
                    const Bundle& angles, const AttentionShape& shape) {
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    ops.push_back(std::make_unique<RopeStoreOp>(qkv.bundle.values[g], angles.values[g],
                                                head_slices(qkv, g, shape), shape));
  }
  builder.reads(qkv.bundle, ActFormat::kF32);
  builder.reads(angles, ActFormat::kF32);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
}

}  // namespace hearth
