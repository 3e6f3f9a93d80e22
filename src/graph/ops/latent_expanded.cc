#include <algorithm>

#include "base/check.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/latent_heads.h"
#include "graph/ops/row_tasks.h"
#include "kernels/attention/latent.h"

namespace hearth {
namespace {

// Rows of a task at most, in blocks of kMaxLatentRows.
constexpr uint32_t kMaxBlocks = 8;

// A task: a head and rows of an item, for which the head's keys and values are made once.
struct ExpandedTask {
  const StepItem* item;
  uint32_t local_shard;
  uint32_t head;       // of the model
  uint32_t row, rows;  // of the item

  uint32_t last_seen(uint32_t r) const { return item->first_position + row + r; }
  uint32_t pages() const { return last_seen(rows - 1) / kPagePositions + 1; }
};

uint32_t tiles_of(std::span<const StepItem> items, uint32_t rows) {
  uint32_t tiles = 0;
  for (const StepItem& item : items) tiles += (item.expanded + rows - 1) / rows;
  return tiles;
}

// The offsets, in a worker's memory beside its scratch, of the parts of a task: the head's
// matrices, and the keys and values of a span.
struct Room {
  size_t key, value, page_keys, page_values;  // floats

  explicit Room(const LatentShape& shape)
      : key(padded_length(
            static_cast<uint32_t>(expand_key_floats(shape.nope_length, shape.kv_lora_rank)))),
        value(expand_value_floats(shape.value_length, shape.kv_lora_rank)),
        page_keys(expanded_key_floats(shape.query_length())),
        page_values(expanded_value_floats(shape.value_length)) {}

  size_t floats() const { return key + value + kSpanPages * (page_keys + page_values); }
};

// Computes attention of expanded rows. A thread takes a head and some rows. It reads the head's
// W_UK and W_UV back from their packs. For one span after the other, it makes k = W_UK c and v =
// W_UV c, and lets all blocks of rows attend to them. The result takes the place of the query.
class LatentExpandedOp : public Op {
 public:
  LatentExpandedOp(ValueId queries, ValueId room, const LatentShape& shape,
                   const LatentMatrices& matrices, std::vector<LatentHeads> heads,
                   const GroupShare& share, uint32_t threads)
      : queries_(queries),
        room_(room),
        shape_(shape),
        size_(shape),
        key_(matrices.key),
        value_(matrices.value),
        heads_(std::move(heads)),
        share_(share),
        threads_(threads) {
    work_.add(key_, share);
    work_.add(value_, share);
  }

  uint32_t counters() const override { return static_cast<uint32_t>(heads_.size()); }

  // Counts every visible pair of a query and a position, and for every task the making of keys and
  // values (W_UK c, W_UV c) of all positions that it sees.
  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const uint32_t rows = expanded_rows(step.items);
    if (rows == 0) return load;
    work_.add_to({.read = 1, .rows = 0}, step.units, &load);
    const size_t page_bytes = kv_half_bytes(step.kv_type, shape_.cached_length());
    const uint64_t expanding =
        uint64_t{2} * shape_.kv_lora_rank * (shape_.nope_length + shape_.value_length);
    for (const LatentHeads& heads : heads_) {
      if (heads.heads.size() == 0) continue;
      const uint32_t tile = tile_rows(step.items, heads.heads.size());
      for (const StepItem& item : step.items) {
        if (item.expanded == 0) continue;
        const Visible seen = visible(item.first_position, item.expanded, 0);
        load.of_shard(heads.shard).kv += seen.positions * (page_bytes / kPagePositions);
        uint64_t made = 0;
        for (uint32_t row = 0; row < item.expanded; row += tile) {
          made += item.first_position + std::min(row + tile, item.expanded);
        }
        load.attention_operations +=
            heads.heads.size() *
            (seen.pairs * 2 * (shape_.query_length() + shape_.value_length) + made * expanding);
      }
    }
    load.of(ArithmeticUnit::kF32Fma) = load.attention_operations;
    load.shared_bytes = static_cast<double>(head_count(heads_)) * rows *
                        (shape_.query_length() + shape_.value_length) * sizeof(float);
    return load;
  }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    const std::span<const StepItem> items = context.step().items;
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      const uint32_t heads = heads_[local_shard].heads.size();
      const uint32_t rows = tile_rows(items, heads);
      const uint32_t tiles = tiles_of(items, rows), count = tiles * heads;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        // The last tiles of a prompt go first, since they see the most positions.
        run_task(context, find_task(items, local_shard, rows, tiles - 1 - t / heads, t % heads),
                 worker);
      }
    }
  }

 private:
  // A worker's scratch: a span's sums of one block, the sums merged so far of all blocks, and
  // behind them the kernel's own.
  size_t block_floats() const { return row_sums_floats(kMaxLatentRows, shape_.value_length); }
  uint32_t max_blocks() const {
    const auto blocks =
        static_cast<uint32_t>(kOpTileBytes / sizeof(float) / block_floats()) - uint32_t{1};
    return std::min(kMaxBlocks, blocks);
  }
  static_assert(kOpTileBytes + kLatentScratchBytes <= kOpScratchBytes);
  static_assert(kOpTileBytes / sizeof(float) / 2 >
                size_t{kMaxLatentRows} * (kMaxLatentValue + 2) + 32);

  // Returns the number of rows of a task that takes the least time. Small tasks keep all threads
  // busy; in large ones more rows share the keys and values of each position.
  uint32_t tile_rows(std::span<const StepItem> items, uint32_t heads) const noexcept {
    const uint64_t making = shape_.kv_lora_rank;
    uint32_t best = kMaxLatentRows;
    uint64_t least = ~uint64_t{0};
    for (uint32_t rows = max_blocks() * kMaxLatentRows; rows >= kMaxLatentRows; rows -= 128) {
      uint32_t max_rows = 1;
      for (const StepItem& item : items) {
        max_rows = std::max(max_rows, std::min(rows, item.expanded));
      }
      const uint64_t rounds = (uint64_t{tiles_of(items, rows)} * heads + threads_ - 1) / threads_;
      const uint64_t time = rounds * (max_rows + making);
      if (time >= least) continue;
      least = time;
      best = rows;
    }
    return best;
  }

  static ExpandedTask find_task(std::span<const StepItem> items, uint32_t local_shard,
                                uint32_t rows, uint32_t tile, uint32_t head) noexcept {
    for (const StepItem& item : items) {
      const uint32_t tiles = (item.expanded + rows - 1) / rows;
      if (tile >= tiles) {
        tile -= tiles;
        continue;
      }
      return {&item, local_shard, head, tile * rows, std::min(rows, item.expanded - tile * rows)};
    }
    HEARTH_CHECK(false, "every tile belongs to an item");
  }

  void run_task(ExecutionContext& context, const ExpandedTask& task,
                const Worker& worker) const noexcept {
    float* room = context.f32(room_) + size_.floats() * worker.index;
    read_matrices(task, room, worker);
    const uint32_t spans = (task.pages() + kSpanPages - 1) / kSpanPages;
    for (uint32_t span = 0; span < spans; ++span) {
      expand(context, task, span, room, worker);
      for (uint32_t row = 0; row < task.rows; row += kMaxLatentRows) {
        const uint32_t rows = std::min(kMaxLatentRows, task.rows - row);
        if (task.last_seen(row + rows - 1) < span * kSpanPositions) continue;
        attend(context, task, {row, row + rows}, span, room, worker);
      }
    }
  }

  // Reads the head's W_UK and W_UV back from their packs into `room`. The pack holds W_UK^T: a row
  // for each element of the latent.
  void read_matrices(const ExpandedTask& task, float* room, const Worker& worker) const noexcept {
    auto* row = reinterpret_cast<float*>(worker.scratch);
    const uint32_t latent = shape_.kv_lora_rank, of_shard = heads_[task.local_shard].shard;
    const uint32_t head = heads_[task.local_shard].heads.begin + task.head;
    std::fill_n(room, size_.key + size_.value, 0.0f);
    const Shard& keys = key_.shards[of_shard];
    for (uint32_t i = 0; i < latent; ++i) {
      unpack_row(keys.spec, keys.codes, keys.scales, head * latent + i - keys.row0, row);
      for (uint32_t d = 0; d < shape_.nope_length; ++d) {
        room[expand_key_at(shape_.nope_length, latent, d, i)] = row[d];
      }
    }
    float* to = room + size_.key;
    const Shard& values = value_.shards[of_shard];
    for (uint32_t e = 0; e < shape_.value_length; ++e) {
      unpack_row(values.spec, values.codes, values.scales,
                 head * shape_.value_length + e - values.row0, row);
      for (uint32_t i = 0; i < latent; ++i) to[expand_value_at(latent, e, i)] = row[i];
    }
  }

  float* page_of(float* room, uint32_t page) const noexcept {
    return room + size_.key + size_.value +
           (size_.page_keys + size_.page_values) * (page % kSpanPages);
  }

  void expand(ExecutionContext& context, const ExpandedTask& task, uint32_t span, float* room,
              const Worker& worker) const noexcept {
    const uint32_t shard = heads_[task.local_shard].shard;
    const uint32_t copy = latent_copies(context, share_, shard, shape_.layer).begin;
    auto latents = [&](uint32_t page) {
      return context.kv().page(shard, shape_.layer, task.item->pages[page], copy).k;
    };
    const uint32_t seen = task.last_seen(task.rows - 1) + 1, pages = task.pages();
    const uint32_t end = std::min((span + 1) * kSpanPages, pages);
    for (uint32_t page = span * kSpanPages; page < end; ++page) {
      float* keys = page_of(room, page);
      context.kernels().expand_latent[static_cast<size_t>(context.kv().type())](
          {.page = latents(page),
           .slots = std::min(kPagePositions, seen - page * kPagePositions),
           .kv_lora_rank = shape_.kv_lora_rank,
           .rope_length = shape_.rope_length,
           .nope_length = shape_.nope_length,
           .value_length = shape_.value_length,
           .key = room,
           .value = room + size_.key,
           .keys = keys,
           .values = keys + size_.page_keys,
           .scratch = worker.scratch + kOpTileBytes,
           .next = page + 1 < pages ? latents(page + 1) : nullptr});
    }
  }

  // Lets one block of the task's rows attend to a span.
  void attend(ExecutionContext& context, const ExpandedTask& task, UnitRange rows, uint32_t span,
              float* room, const Worker& worker) const noexcept {
    const LatentHeads& heads = heads_[task.local_shard];
    size_t offset[kMaxLatentRows];
    uint32_t last[kMaxLatentRows];
    for (uint32_t i = 0; i < rows.size(); ++i) {
      const size_t row = size_t{task.item->first_row} + task.row + rows.begin + i;
      offset[i] = row * context.f32_stride(queries_) + heads.query_column +
                  size_t{task.head} * query_stride(shape_);
      last[i] = task.last_seen(rows.begin + i);
    }
    KvPage pages[kSpanPages];
    for (uint32_t p = 0; p < kSpanPages; ++p) {
      float* keys = page_of(room, p);
      pages[p] = {reinterpret_cast<std::byte*>(keys),
                  reinterpret_cast<std::byte*>(keys + size_.page_keys)};
    }
    auto* sums = reinterpret_cast<float*>(worker.scratch);
    const bool over = span == last[rows.size() - 1] / kSpanPositions;
    context.kernels().attend_expanded({.q = context.f32(queries_),
                                       .q_offset = offset,
                                       .last = last,
                                       .rows = rows.size(),
                                       .window = 0,
                                       .pages = pages,
                                       .key_length = shape_.query_length(),
                                       .value_length = shape_.value_length,
                                       .scale = shape_.scale,
                                       .out = nullptr,
                                       .out_offset = nullptr,
                                       .scratch = worker.scratch + kOpTileBytes,
                                       .sums = sums,
                                       .span0 = span,
                                       .span1 = span + 1});
    context.kernels().merge_spans(
        {.sums = sums,
         .spans = 1,
         .rows = rows.size(),
         .value_length = shape_.value_length,
         .merged = sums + block_floats() * (1 + rows.begin / kMaxLatentRows),
         .first = span == 0,
         .out = over ? context.f32(queries_) : nullptr,
         .out_offset = offset});
  }

  ValueId queries_, room_;
  LatentShape shape_;
  Room size_;
  const Weight &key_, &value_;
  std::vector<LatentHeads> heads_;
  GroupShare share_;
  uint32_t threads_;  // that share a local shard
  WeightWork work_;
};

}  // namespace

void latent_expanded_attention(GraphBuilder& builder, std::string name, const Bundle& queries,
                               const LatentShape& shape, const LatentMatrices& matrices) {
  Bundle rooms;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    const size_t floats = Room(shape).floats() * group.size();
    rooms.values.push_back(builder.add_value(RowSet::kOne, static_cast<uint32_t>(floats), g));
  }
  builder.reads(queries, ActFormat::kF32);
  builder.reads(rooms, ActFormat::kF32);
  builder.writes(rooms);
  builder.append(Mode::kParallel, std::move(name), op_per_group(builder, [&](uint32_t g) {
                   const PlanGroup& group = builder.plan().groups[g];
                   return std::make_unique<LatentExpandedOp>(
                       queries.values[g], rooms.values[g], shape, matrices,
                       latent_heads(shape, matrices.key, group.share), group.share,
                       threads_per_shard(group));
                 }));
}

}  // namespace hearth
