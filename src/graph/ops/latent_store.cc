#include "graph/ops/latent_heads.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

// The columns of the group's down-projections where the low-rank queries begin, and where [c |
// k_rope] begins.
struct DownColumns {
  uint32_t query, latent;
};

class LatentStoreOp : public Op {
 public:
  LatentStoreOp(ValueId down, ValueId angles, const DownColumns& columns, const LatentShape& shape,
                const GroupShare& share, const std::optional<NormTarget>& query)
      : down_(down),
        angles_(angles),
        columns_(columns),
        shape_(shape),
        share_(share),
        query_(query) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    double floats = 2.0 * shape_.cached_length();
    if (query_) floats += 2.0 * query_->norm.weight->size;
    load.shared_bytes = floats * sizeof(float) * step.rows;
    return load;
  }

  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    auto* scratch = reinterpret_cast<float*>(worker.scratch);
    const RowRange range = rows_of(worker, context.rows(down_));
    for (uint32_t r = range.begin; r < range.end; ++r) {
      const float* row = context.f32(down_) + r * context.f32_stride(down_);
      if (query_) query_->write(context, row + columns_.query, r, scratch);
      store(context, row + columns_.latent, r, scratch);
    }
  }

 private:
  void store(ExecutionContext& context, const float* x, uint32_t row, float* key) const noexcept {
    const StepItem& item = context.step().items[context.step().row_items[row]];
    const uint32_t position = item.first_position + row - item.first_row;
    const uint32_t page = item.pages[position / kPagePositions], slot = position % kPagePositions;
    const KvType type = context.kv().type();
    const uint32_t length = shape_.cached_length(), n_rot = shape_.rope_length;
    norm_row(context, shape_.latent_norm, share_.shard_begin, x, key);
    float* rope_part = key + shape_.kv_lora_rank;
    std::copy_n(x + shape_.kv_lora_rank, n_rot, rope_part);
    const float* cos = context.f32(angles_) + row * context.f32_stride(angles_);
    context.kernels().rope({rope_part, cos, cos + n_rot / 2, n_rot, shape_.rope});
    for (uint32_t shard = share_.shard_begin; shard < share_.shard_end; ++shard) {
      const UnitRange copies = latent_copies(context, share_, shard, shape_.layer);
      for (uint32_t copy = copies.begin; copy < copies.end; ++copy) {
        const KvPage to = context.kv().page(shard, shape_.layer, page, copy);
        context.kernels().store_latent[static_cast<size_t>(type)](
            {key, nullptr, length, 0, to, slot});
      }
    }
  }

  ValueId down_, angles_;
  DownColumns columns_;
  LatentShape shape_;
  GroupShare share_;
  std::optional<NormTarget> query_;
};

}  // namespace

Bundle latent_store(GraphBuilder& builder, std::string name, const LinearOut& down, size_t latent,
                    const Bundle& angles, const LatentShape& shape, const NormWeight* query_norm) {
  Bundle low;
  if (query_norm != nullptr) {
    low = builder.add_values(RowSet::kTokens, same_width(builder, query_norm->weight->size));
  }
  builder.reads(down.bundle, ActFormat::kF32);
  builder.reads(angles, ActFormat::kF32);
  builder.writes(low);
  builder.append(
      Mode::kParallel, std::move(name), op_per_group(builder, [&](uint32_t g) {
        std::optional<NormTarget> query;
        if (query_norm != nullptr) {
          query = NormTarget{*query_norm, first_shard(builder, g), low.values[g],
                             query_norm->weight->size};
        }
        const DownColumns columns{down.slices[0][g][0].column, down.slices[latent][g][0].column};
        return std::make_unique<LatentStoreOp>(down.bundle.values[g], angles.values[g], columns,
                                               shape, builder.plan().groups[g].share, query);
      }));
  return low;
}

}  // namespace hearth
