#include "graph/ops/attention.h"

#include <algorithm>

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/head_slices.h"

namespace hearth {
namespace {

// Tasks are (run of an item's rows, granule of KV heads: what the slice has of their query heads).
class AttentionOp : public Op {
 public:
  AttentionOp(ValueId qkv, ValueId out, std::vector<HeadSlice> heads,
              const std::vector<ColumnSlice>& columns, const AttentionShape& shape)
      : qkv_(qkv), out_(out), heads_(std::move(heads)), shape_(shape) {
    for (const ColumnSlice& slice : columns) columns_.push_back(slice.column);
    uint32_t most = 1;
    for (const HeadSlice& slice : heads_) {
      for (uint32_t head = slice.kv.begin; head < slice.kv.end; ++head) {
        most = std::max(most, slice.queries_of(head, shape.group_size).size());
      }
    }
    // All query heads of a KV head, at most kMaxQueryRows rows a kernel call, and a tile that fits.
    size_t width = size_t{shape.granule} * most * shape.head_dim;
    size_t fit = kOpTileBytes / 2 / (width * sizeof(float));
    tile_rows_ = static_cast<uint32_t>(
        std::clamp<size_t>(kMaxQueryRows / most, 1, std::max<size_t>(fit, 1)));
  }

  uint32_t counters() const override { return static_cast<uint32_t>(heads_.size()); }

  // Every visible pair of a query and a position: a score and a sum over the head's elements each.
  OpWork work(const ExecutionContext& context) const override {
    uint64_t heads = 0, kv_heads = 0;
    for (const HeadSlice& slice : heads_) {
      heads += slice.queries.size();
      kv_heads += slice.kv.size();
    }
    size_t position_bytes = 2 * context.kv().half_bytes() / kPagePositions;
    OpWork work;
    for (const StepItem& item : context.step().items) {
      Visible seen = visible(item.first_position, item.rows, shape_.window);
      work.bytes += kv_heads * seen.positions * position_bytes;
      work.of(Unit::kF32Fma) += heads * seen.pairs * 4 * shape_.head_dim;
    }
    return work;
  }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    uint32_t tiles = 0;
    for (const StepItem& item : context.step().items) tiles += tiles_of(item);
    for (uint32_t slot : context.slots(worker.member)) {
      UnitRange kv = heads_[slot].kv;
      // Granules are counted from the model's first KV head, since there they fill whole blocks.
      uint32_t first = kv.begin / shape_.granule;
      uint32_t granules = (kv.end + shape_.granule - 1) / shape_.granule - first;
      uint32_t count = kv.size() == 0 ? 0 : tiles * granules;
      for (uint32_t t; (t = context.claim(sync.counter0 + slot, count)) < count;) {
        // The last tiles of a causal prompt see the most positions: they go first.
        uint32_t head = (first + t % granules) * shape_.granule;
        UnitRange heads{std::max(kv.begin, head), std::min(kv.end, head + shape_.granule)};
        run_task(context, slot, heads, tiles - 1 - t / granules, worker);
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
  void run_task(ExecutionContext& context, uint32_t slot, UnitRange kv_heads, uint32_t tile_index,
                const Worker& worker) const noexcept {
    Tile tile = find_tile(context, tile_index);
    const HeadSlice& slice = heads_[slot];
    uint32_t first = slice.queries_of(kv_heads.begin, shape_.group_size).begin;
    uint32_t end = slice.queries_of(kv_heads.end - 1, shape_.group_size).end;
    size_t width = size_t{end - first} * shape_.head_dim;
    auto* out = reinterpret_cast<float*>(worker.scratch);
    for (uint32_t head = kv_heads.begin; head < kv_heads.end; ++head) {
      UnitRange queries = slice.queries_of(head, shape_.group_size);
      attend_head(context, slice, head, queries, tile,
                  out + size_t{queries.begin - first} * shape_.head_dim, width, worker);
    }
    uint32_t column = columns_[slot] + (first - slice.queries.begin) * shape_.head_dim;
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
                   UnitRange queries, const Tile& tile, float* out, size_t out_stride,
                   const Worker& worker) const noexcept {
    uint32_t last_position = tile.item->first_position + tile.row + tile.rows - 1;
    auto* pages = reinterpret_cast<KvPage*>(worker.scratch + kOpTileBytes / 2);
    for (uint32_t p = 0; p <= last_position / kPagePositions; ++p) {
      pages[p] = context.kv().page(slice.shard, shape_.layer, tile.item->pages[p],
                                   slice.cached + head - slice.kv.begin);
    }
    size_t q_offset[kMaxQueryRows], out_offset[kMaxQueryRows];
    uint32_t last[kMaxQueryRows];
    size_t stride = context.f32_stride(qkv_);
    size_t column = slice.q_column + size_t{queries.begin - slice.queries.begin} * shape_.head_dim;
    AttentionRows rows{q_offset, out_offset, last};
    uint32_t total = tile.rows * queries.size();
    uint32_t done = 0;
    while (done < total) {
      uint32_t count = std::min(kMaxQueryRows, total - done);
      for (uint32_t i = 0; i < count; ++i) {
        uint32_t r = (done + i) / queries.size(), h = (done + i) % queries.size();
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
