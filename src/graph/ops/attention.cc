#include "graph/ops/attention.h"

#include <algorithm>

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/gemm_tasks.h"

namespace hearth {
namespace {

// The KV heads of one shard that a group works on, and where their rows stand in its Q, K, V value.
struct HeadSlice {
  uint32_t shard;
  uint32_t first, count;  // KV heads, `first` counted from the shard's first
  uint32_t q_column, k_column, v_column;
};

std::vector<HeadSlice> head_slices(const LinearOut& qkv, uint32_t group,
                                   const AttentionShape& shape) {
  std::vector<HeadSlice> heads;
  for (size_t slot = 0; slot < qkv.slices[0][group].size(); ++slot) {
    const RowSlice& q = qkv.slices[0][group][slot];
    const RowSlice& k = qkv.slices[1][group][slot];
    const RowSlice& v = qkv.slices[2][group][slot];
    heads.push_back({k.shard, k.first_row() / shape.head_dim, k.rows / shape.head_dim,
                     q.column + q.lead, k.column + k.lead, v.column + v.lead});
  }
  return heads;
}

// Tasks are (row, KV head): its query heads, its key, its value.
class RopeStoreOp : public Op {
 public:
  RopeStoreOp(ValueId qkv, ValueId angles, std::vector<HeadSlice> heads,
              const AttentionShape& shape)
      : qkv_(qkv), angles_(angles), heads_(std::move(heads)), shape_(shape) {}

  uint32_t counters() const override { return static_cast<uint32_t>(heads_.size()); }

  void run(ExecutionContext& context, uint32_t counter0,
           const Worker& worker) const noexcept override {
    // Runs of rows, so that prefill claims seldom and decode spreads its heads over the threads.
    uint32_t rows = context.rows(qkv_), run = std::min(rows, 16u);
    uint32_t runs = (rows + run - 1) / run;
    for (uint32_t slot : *worker.shards) {
      uint32_t count = heads_[slot].count * runs;
      for (uint32_t t; (t = context.claim(counter0 + slot, count)) < count;) {
        uint32_t first = t / heads_[slot].count * run;
        for (uint32_t r = first; r < std::min(rows, first + run); ++r) {
          run_head(context, heads_[slot], t % heads_[slot].count, r);
        }
      }
    }
  }

 private:
  void run_head(ExecutionContext& context, const HeadSlice& heads, uint32_t head,
                uint32_t row) const noexcept {
    uint32_t d = shape_.head_dim;
    float* base = context.f32(qkv_) + row * context.f32_stride(qkv_);
    float* q = base + heads.q_column + size_t{head} * shape_.group_size * d;
    float* k = base + heads.k_column + size_t{head} * d;
    float* v = base + heads.v_column + size_t{head} * d;
    for (uint32_t i = 0; i < shape_.group_size; ++i) {
      norm_and_rotate(context, q + size_t{i} * d, shape_.q_norm, heads.shard, row);
    }
    norm_and_rotate(context, k, shape_.k_norm, heads.shard, row);
    const StepView& step = context.step();
    const StepItem& item = step.items[step.row_items[row]];
    uint32_t position = step.positions[row];
    KvPage page = context.kv().page(heads.shard, shape_.layer,
                                    item.pages[position / kPagePositions], heads.first + head);
    context.kernels().kv_store[static_cast<size_t>(context.kv().type)](
        {k, v, d, page, position % kPagePositions});
  }

  void norm_and_rotate(ExecutionContext& context, float* x, const VectorWeight* norm,
                       uint32_t shard, uint32_t row) const noexcept {
    if (norm) {
      context.kernels().rms_norm({x, norm->copies[shard], shape_.head_dim, shape_.norm_eps, x});
    }
    const float* cos = context.f32(angles_) + row * context.f32_stride(angles_);
    context.kernels().rope({x, cos, cos + shape_.n_rot / 2, shape_.n_rot, shape_.rope});
  }

  ValueId qkv_, angles_;
  std::vector<HeadSlice> heads_;
  AttentionShape shape_;
};

// Tasks are (run of an item's rows, granule of KV heads).
class AttentionOp : public Op {
 public:
  AttentionOp(ValueId qkv, ValueId out, std::vector<HeadSlice> heads,
              const std::vector<ColumnSlice>& columns, const AttentionShape& shape)
      : qkv_(qkv), out_(out), heads_(std::move(heads)), shape_(shape) {
    for (const ColumnSlice& slice : columns) columns_.push_back(slice.column);
    // Whole query groups, at most kMaxQueryRows rows a kernel call, and a tile that fits.
    size_t width = size_t{shape.granule} * shape.group_size * shape.head_dim;
    size_t fit = kOpTileBytes / 2 / (width * sizeof(float));
    tile_rows_ = static_cast<uint32_t>(
        std::clamp<size_t>(kMaxQueryRows / shape.group_size, 1, std::max<size_t>(fit, 1)));
  }

  uint32_t counters() const override { return static_cast<uint32_t>(heads_.size()); }

  // Every visible pair of a query and a position: a score and a sum over the head's elements each.
  OpWork work(const ExecutionContext& context) const override {
    uint64_t heads = 0;
    for (const HeadSlice& slice : heads_) heads += slice.count;
    size_t position_bytes = 2 * context.kv().half_bytes() / kPagePositions;
    OpWork work;
    for (const StepItem& item : context.step().items) {
      Visible seen = visible(item.first_position, item.rows, shape_.window);
      work.bytes += heads * seen.positions * position_bytes;
      work.of(Unit::kF32Fma) += heads * shape_.group_size * seen.pairs * 4 * shape_.head_dim;
    }
    return work;
  }

  void run(ExecutionContext& context, uint32_t counter0,
           const Worker& worker) const noexcept override {
    uint32_t tiles = 0;
    for (const StepItem& item : context.step().items) tiles += tiles_of(item);
    for (uint32_t slot : *worker.shards) {
      uint32_t granules = (heads_[slot].count + shape_.granule - 1) / shape_.granule;
      uint32_t count = tiles * granules;
      for (uint32_t t; (t = context.claim(counter0 + slot, count)) < count;) {
        // The last tiles of a causal prompt see the most positions: they go first.
        run_task(context, slot, t % granules * shape_.granule, tiles - 1 - t / granules, worker);
      }
    }
  }

 private:
  uint32_t tiles_of(const StepItem& item) const noexcept {
    return (item.rows + tile_rows_ - 1) / tile_rows_;
  }

  struct Tile {
    const StepItem* item;
    uint32_t row, rows;  // of the item
  };

  Tile find_tile(const ExecutionContext& context, uint32_t tile) const noexcept {
    for (const StepItem& item : context.step().items) {
      uint32_t count = tiles_of(item);
      if (tile < count) {
        uint32_t row = tile * tile_rows_;
        return {&item, row, std::min(tile_rows_, item.rows - row)};
      }
      tile -= count;
    }
    HEARTH_CHECK(false, "every tile belongs to an item");
  }

  // Scratch: the output tile, then the list of pages, then the kernel's own.
  void run_task(ExecutionContext& context, uint32_t slot, uint32_t first_head, uint32_t tile_index,
                const Worker& worker) const noexcept {
    Tile tile = find_tile(context, tile_index);
    const HeadSlice& slice = heads_[slot];
    uint32_t heads = std::min(shape_.granule, slice.count - first_head);
    uint32_t head_width = shape_.group_size * shape_.head_dim;
    size_t width = size_t{heads} * head_width;
    auto* out = reinterpret_cast<float*>(worker.scratch);
    for (uint32_t h = 0; h < heads; ++h) {
      attend_head(context, slice, first_head + h, tile, out + size_t{h} * head_width, width,
                  worker);
    }
    uint32_t column = columns_[slot] + first_head * head_width;
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      for (uint32_t r = 0; r < tile.rows; ++r) {
        context.kernels().quantize[f]({out + r * width, column, static_cast<uint32_t>(width),
                                       context.buffer(out_, format),
                                       size_t{tile.item->first_row} + tile.row + r});
      }
    }
  }

  void attend_head(ExecutionContext& context, const HeadSlice& slice, uint32_t head,
                   const Tile& tile, float* out, size_t out_stride,
                   const Worker& worker) const noexcept {
    uint32_t last_position = tile.item->first_position + tile.row + tile.rows - 1;
    auto* pages = reinterpret_cast<KvPage*>(worker.scratch + kOpTileBytes / 2);
    for (uint32_t p = 0; p <= last_position / kPagePositions; ++p) {
      pages[p] =
          context.kv().page(slice.shard, shape_.layer, tile.item->pages[p], slice.first + head);
    }
    size_t q_offset[kMaxQueryRows], out_offset[kMaxQueryRows];
    uint32_t last[kMaxQueryRows];
    size_t stride = context.f32_stride(qkv_);
    size_t column = slice.q_column + size_t{head} * shape_.group_size * shape_.head_dim;
    AttentionRows rows{q_offset, out_offset, last};
    uint32_t total = tile.rows * shape_.group_size;
    uint32_t done = 0;
    while (done < total) {
      uint32_t count = std::min(kMaxQueryRows, total - done);
      for (uint32_t i = 0; i < count; ++i) {
        uint32_t r = (done + i) / shape_.group_size, h = (done + i) % shape_.group_size;
        size_t row = size_t{tile.item->first_row} + tile.row + r;
        rows.q_offset[i] = row * stride + column + size_t{h} * shape_.head_dim;
        rows.out_offset[i] = r * out_stride + size_t{h} * shape_.head_dim;
        rows.last[i] = tile.item->first_position + tile.row + r;
      }
      context.kernels().attend[static_cast<size_t>(context.kv().type)](
          {context.f32(qkv_), q_offset, last, count, shape_.window, pages, shape_.head_dim,
           shape_.scale, out, out_offset, worker.scratch + kOpTileBytes});
      done += count;
    }
  }

  struct AttentionRows {
    size_t* q_offset;
    size_t* out_offset;
    uint32_t* last;
  };

  ValueId qkv_, out_;
  std::vector<HeadSlice> heads_;
  std::vector<uint32_t> columns_;
  AttentionShape shape_;
  uint32_t tile_rows_;
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

Bundle attention(GraphBuilder& builder, std::string name, const LinearOut& qkv,
                 const AttentionShape& shape, const Weight& output) {
  Bundle out = column_values(builder, output);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    ops.push_back(std::make_unique<AttentionOp>(
        qkv.bundle.values[g], out.values[g], head_slices(qkv, g, shape),
        column_slices(*output.cuts, output.unit, output.k, builder.plan().groups[g].share), shape));
  }
  builder.reads(qkv.bundle, ActFormat::kF32);
  builder.writes(out);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

}  // namespace hearth
