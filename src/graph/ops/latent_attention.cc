#include <algorithm>

#include "base/check.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/latent_heads.h"
#include "kernels/attention/latent.h"

namespace hearth {
namespace {

// Unpacking a page of latents takes as long as kUnpackRows rows of attention to it, so a block
// should have at least kFewestHeads heads.
constexpr uint32_t kUnpackRows = 8, kFewestHeads = 16;

uint32_t absorbed_rows(const StepItem& item) { return item.rows - item.expanded; }

// The division of a step's attention on a local shard. A unit is `heads` heads times `rows` rows of
// an item, and may be cut into pieces, which are ranges of its spans.
struct Division {
  uint32_t heads = 0, rows = 0;
  uint32_t blocks = 0;  // of heads
  uint32_t tiles = 0;   // of the items' rows
  uint32_t pieces = 1;

  uint32_t units() const { return blocks * tiles; }
};

// A unit, or a piece of one.
struct Task {
  const StepItem* item;
  uint32_t local_shard;
  uint32_t row, rows;  // of the item
  UnitRange heads;     // of the model
  uint32_t spans;      // that the rows see
  uint32_t unit, piece, pieces;

  uint32_t count() const { return rows * heads.size(); }
  uint32_t last_seen(uint32_t r) const { return item->first_position + row + r; }
  UnitRange spans_of_piece() const {
    return {spans * piece / pieces, spans * (piece + 1) / pieces};
  }
};

// Attends to latents: the sum of a c over positions, with a = softmax(q' c + q_rope k_rope). The
// thread of a piece visits one span after the other and waits for the piece before it. Then it
// merges its sums behind that piece's sums, and tells the next piece. Pieces are claimed in order,
// so a piece that a thread waits for is under way or done.
class LatentAttentionOp : public Op {
 public:
  LatentAttentionOp(ValueId queries, ValueId out, ValueId merged, const LatentShape& shape,
                    std::vector<LatentHeads> heads, const GroupShare& share, uint32_t threads)
      : queries_(queries),
        out_(out),
        merged_(merged),
        shape_(shape),
        heads_(std::move(heads)),
        share_(share),
        threads_(threads),
        enough_(enough_tasks(threads)) {}

  // Returns how many tasks a local shard needs to keep its threads evenly busy. Where there are
  // fewer units than that, they are cut into pieces.
  static uint32_t enough_tasks(uint32_t threads) { return threads == 1 ? 1 : 4 * threads; }
  // Returns the floats of the sums of all spans merged so far, over a unit's rows.
  static size_t unit_floats(const LatentShape& shape) {
    return row_sums_floats(kMaxLatentRows, shape.kv_lora_rank);
  }

  uint32_t counters() const override { return local_shard_count(); }
  // A flag for each piece.
  uint32_t flags() const override { return local_shard_count() * 2 * enough_; }

  // Counts a score and a sum for every visible pair of a query and a position: the score over
  // [c | k_rope], the sum a c over c.
  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const size_t page_bytes = kv_half_bytes(step.kv_type, shape_.cached_length());
    for (const LatentHeads& heads : heads_) {
      if (heads.heads.size() == 0) continue;
      for (const StepItem& item : step.items) {
        if (absorbed_rows(item) == 0) continue;
        const Visible seen = visible(item.first_position + item.expanded, absorbed_rows(item), 0);
        load.of_shard(heads.shard).kv += seen.positions * (page_bytes / kPagePositions);
        load.attention_operations +=
            heads.heads.size() * seen.pairs * 2 * (shape_.cached_length() + shape_.kv_lora_rank);
      }
    }
    load.of(ArithmeticUnit::kF32Fma) = load.attention_operations;
    load.shared_bytes = static_cast<double>(head_count(heads_)) *
                        (step.rows - expanded_rows(step.items)) *
                        (query_stride(shape_) * sizeof(float) +
                         mix_stride(shape_) * written_bytes(step.graph, out_));
    return load;
  }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      const Division division = divide(context, heads_[local_shard].heads.size());
      const uint32_t count = division.units() * division.pieces;
      if (count == 0) continue;
      for (uint32_t t; (t = context.claim(sync.counter0 + local_shard, count)) < count;) {
        const uint32_t unit = t % division.units();
        // The last tiles of a prompt go first, since they see the most positions.
        Task task = find_task(context, local_shard, division,
                              division.tiles - 1 - unit / division.blocks, unit % division.blocks);
        task.unit = unit;
        task.piece = t / division.units();
        task.pieces = division.pieces;
        run_task(context, task, sync.flag0, worker);
      }
    }
  }

 private:
  // A worker's scratch: the list of pages, a span's sums, the sums merged so far, and behind them
  // the kernel's own. The kernel's scratch holds the tile of results when it is done.
  static constexpr size_t kPagesBytes = kOpTileBytes / 4;
  static constexpr size_t kSumsFloats =
      size_t{kMaxLatentRows} * kMaxLatentValue + 2 * kMaxLatentRows;
  static_assert(kMaxContext / kPagePositions * sizeof(KvPage) <= kPagesBytes);
  static_assert(kPagesBytes + 2 * kSumsFloats * sizeof(float) <= kOpTileBytes);
  static_assert(kOpTileBytes + kLatentScratchBytes <= kOpScratchBytes);
  static_assert(kSumsFloats * sizeof(float) <= kLatentScratchBytes);

  static KvPage* pages_of(const Worker& worker) {
    return reinterpret_cast<KvPage*>(worker.scratch);
  }
  static float* sums_of(const Worker& worker) {
    return reinterpret_cast<float*>(worker.scratch + kPagesBytes);
  }
  static float* merged_of(const Worker& worker) { return sums_of(worker) + kSumsFloats; }
  static float* tile_of(const Worker& worker) {
    return reinterpret_cast<float*>(worker.scratch + kOpTileBytes);
  }

  uint32_t local_shard_count() const noexcept { return static_cast<uint32_t>(heads_.size()); }

  static uint32_t spans_seen(const StepItem& item, uint32_t rows) noexcept {
    return (item.first_position + rows - 1) / kSpanPositions + 1;
  }

  // Returns the division that takes the least time. More blocks of heads make more tasks, but each
  // unpacks the pages of latents for itself.
  Division divide(const ExecutionContext& context, uint32_t heads) const noexcept {
    uint32_t spans = 1, max_rows = 1;
    uint32_t all_rows = 0;
    for (const StepItem& item : context.step().items) {
      if (absorbed_rows(item) == 0) continue;
      spans = std::max(spans, spans_seen(item, item.rows));
      max_rows = std::max(max_rows, absorbed_rows(item));
      all_rows += absorbed_rows(item);
    }
    Division best;
    if (all_rows == 0) return best;
    uint64_t least = ~uint64_t{0};
    const uint32_t fewest = (heads + kMaxLatentRows - 1) / kMaxLatentRows;
    const uint32_t most = std::max(fewest, heads / kFewestHeads);
    for (uint32_t blocks = fewest; heads > 0 && blocks <= most; ++blocks) {
      Division division;
      division.heads = (heads + blocks - 1) / blocks;
      division.blocks = (heads + division.heads - 1) / division.heads;
      division.rows = kMaxLatentRows / division.heads;
      for (const StepItem& item : context.step().items) {
        division.tiles += (absorbed_rows(item) + division.rows - 1) / division.rows;
      }
      const uint32_t units = division.units();
      if (units < enough_) division.pieces = std::min(spans, 2 * enough_ / units);
      const uint64_t rounds = (uint64_t{units} * division.pieces + threads_ - 1) / threads_;
      const uint64_t rows = division.heads * std::min(division.rows, max_rows) + kUnpackRows;
      const uint64_t time = rounds * rows * spans / division.pieces;
      if (time >= least) continue;
      least = time;
      best = division;
    }
    return best;
  }

  Task find_task(const ExecutionContext& context, uint32_t local_shard, const Division& division,
                 uint32_t tile, uint32_t block) const noexcept {
    const UnitRange heads = heads_[local_shard].heads;
    for (const StepItem& item : context.step().items) {
      const uint32_t tiles = (absorbed_rows(item) + division.rows - 1) / division.rows;
      if (tile >= tiles) {
        tile -= tiles;
        continue;
      }
      Task task{};
      task.item = &item;
      task.local_shard = local_shard;
      task.row = item.expanded + tile * division.rows;
      task.rows = std::min(division.rows, item.rows - task.row);
      task.heads.begin = heads.begin + block * division.heads;
      task.heads.end = std::min(task.heads.begin + division.heads, heads.end);
      task.spans = spans_seen(item, task.row + task.rows);
      return task;
    }
    HEARTH_CHECK(false, "every tile belongs to an item");
  }

  // The rows of a kernel call: the heads of one row, then of the next.
  struct CallRows {
    size_t q_offset[kMaxLatentRows], out_offset[kMaxLatentRows];
    uint32_t last[kMaxLatentRows];
  };

  CallRows rows_of(const ExecutionContext& context, const Task& task) const noexcept {
    const LatentHeads& heads = heads_[task.local_shard];
    const size_t column =
        heads.query_column + size_t{task.heads.begin - heads.heads.begin} * query_stride(shape_);
    CallRows rows;
    for (uint32_t i = 0; i < task.count(); ++i) {
      const uint32_t r = i / task.heads.size(), h = i % task.heads.size();
      const size_t row = size_t{task.item->first_row} + task.row + r;
      rows.q_offset[i] =
          row * context.f32_stride(queries_) + column + size_t{h} * query_stride(shape_);
      rows.out_offset[i] = size_t{i} * shape_.kv_lora_rank;
      rows.last[i] = task.last_seen(r);
    }
    return rows;
  }

  void run_task(ExecutionContext& context, const Task& task, uint32_t flag0,
                const Worker& worker) const noexcept {
    const uint32_t flag =
        flag0 + task.local_shard + local_shard_count() * (task.unit * task.pieces + task.piece);
    const UnitRange spans = task.spans_of_piece();
    const CallRows rows = rows_of(context, task);
    list_pages(context, task, spans, worker);
    float* merged = merged_of(worker);
    if (task.pieces > 1) {
      const size_t unit = size_t{task.local_shard} * enough_ + task.unit;
      merged = context.f32(merged_) + unit_floats(shape_) * unit;
    }
    bool waits = task.piece > 0;
    for (uint32_t span = spans.begin; span < spans.end; ++span) {
      attend(context, task, rows, span, worker);
      if (waits) context.wait_for(flag - local_shard_count());
      waits = false;
      merge(context, task, rows, span, merged, worker);
    }
    if (waits) context.wait_for(flag - local_shard_count());
    if (task.pieces > 1) context.post(flag);
    if (task.piece + 1 == task.pieces) write_out(context, task, worker);
  }

  // Lists the pages of the spans, and the page behind them if there is one.
  void list_pages(const ExecutionContext& context, const Task& task, UnitRange spans,
                  const Worker& worker) const noexcept {
    const uint32_t shard = heads_[task.local_shard].shard;
    const uint32_t copy = latent_copies(context, share_, shard, shape_.layer).begin;
    const uint32_t end = task.last_seen(task.rows - 1) / kPagePositions + 1;
    for (uint32_t p = spans.begin * kSpanPages; p <= spans.end * kSpanPages && p < end; ++p) {
      pages_of(worker)[p] = context.kv().page(shard, shape_.layer, task.item->pages[p], copy);
    }
  }

  void attend(ExecutionContext& context, const Task& task, const CallRows& rows, uint32_t span,
              const Worker& worker) const noexcept {
    const KvPage* pages = pages_of(worker);
    const bool more = span + 1 < task.spans;
    context.kernels().attend_latent[static_cast<size_t>(context.kv().type())](
        {.q = context.f32(queries_),
         .q_offset = rows.q_offset,
         .last = rows.last,
         .rows = task.count(),
         .window = 0,
         .pages = pages,
         .key_length = shape_.cached_length(),
         .value_length = shape_.kv_lora_rank,
         .scale = shape_.scale,
         .out = nullptr,
         .out_offset = nullptr,
         .scratch = worker.scratch + kOpTileBytes,
         .sums = sums_of(worker),
         .span0 = span,
         .span1 = span + 1,
         .after = more ? pages[(span + 1) * kSpanPages] : KvPage{}});
  }

  void merge(ExecutionContext& context, const Task& task, const CallRows& rows, uint32_t span,
             float* merged, const Worker& worker) const noexcept {
    context.kernels().merge_spans({.sums = sums_of(worker),
                                   .spans = 1,
                                   .rows = task.count(),
                                   .value_length = shape_.kv_lora_rank,
                                   .merged = merged,
                                   .first = span == 0,
                                   .out = span + 1 == task.spans ? tile_of(worker) : nullptr,
                                   .out_offset = rows.out_offset});
  }

  // Writes the tile of results in all formats that readers of the value ask for.
  void write_out(ExecutionContext& context, const Task& task, const Worker& worker) const noexcept {
    const LatentHeads& heads = heads_[task.local_shard];
    const uint32_t column =
        heads.mix_column + (task.heads.begin - heads.heads.begin) * mix_stride(shape_);
    for (size_t f = 0; f < kActFormats; ++f) {
      const auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      for (uint32_t i = 0; i < task.count(); ++i) {
        const uint32_t r = i / task.heads.size(), h = i % task.heads.size();
        context.kernels().quantize[f]({tile_of(worker) + size_t{i} * shape_.kv_lora_rank,
                                       column + h * mix_stride(shape_), shape_.kv_lora_rank,
                                       context.buffer(out_, format),
                                       size_t{task.item->first_row} + task.row + r});
      }
    }
  }

  ValueId queries_, out_, merged_;
  LatentShape shape_;
  std::vector<LatentHeads> heads_;
  GroupShare share_;
  uint32_t threads_;  // that share a local shard
  uint32_t enough_;
};

}  // namespace

Bundle latent_attention(GraphBuilder& builder, std::string name, const Bundle& queries,
                        const LatentShape& shape, const LatentMatrices& matrices) {
  HEARTH_CHECK(shape.cached_length() <= kMaxLatentKey && shape.kv_lora_rank <= kMaxLatentValue,
               "latents are what kernels were built for");
  Bundle merged;
  std::vector<std::vector<LatentHeads>> heads;
  std::vector<uint32_t> widths;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    heads.push_back(latent_heads(shape, matrices.key, group.share));
    widths.push_back(std::max(1u, head_count(heads.back())) * mix_stride(shape));
    const size_t units =
        heads.back().size() * LatentAttentionOp::enough_tasks(threads_per_shard(group));
    merged.values.push_back(builder.add_value(
        RowSet::kOne, static_cast<uint32_t>(units * LatentAttentionOp::unit_floats(shape)), g));
  }
  Bundle out = builder.add_values(RowSet::kTokens, widths);
  builder.reads(queries, ActFormat::kF32);
  builder.reads(merged, ActFormat::kF32);
  builder.writes(merged);
  builder.writes(out);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    ops.push_back(std::make_unique<LatentAttentionOp>(queries.values[g], out.values[g],
                                                      merged.values[g], shape, heads[g],
                                                      group.share, threads_per_shard(group)));
  }
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

}  // namespace hearth
