#include "graph/ops/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/kv_pages.h"

namespace hearth {
namespace {

// A task of one thread: a unit, or a piece of one. A unit is some rows of an item times those query
// heads of the slice that belong to one granule of KV heads.
struct Task {
  const StepItem* item;
  uint32_t row, rows;  // of the item
  uint32_t local_shard;
  UnitRange kv_heads, queries;
  UnitRange spans;  // that the rows see
  uint32_t unit, piece, pieces;
};

// Computes attention. If a step has few units for its threads, as with one long sequence on many
// cores, units are cut into pieces. A piece is a range of a unit's spans
// (kernels/attention/attention.h). Its thread visits the spans, waits for the piece before it,
// merges its sums behind that piece's sums, and tells the next piece. Pieces are claimed in order,
// so a piece that a thread waits for is under way or done.
class AttentionOp : public Op {
 public:
  AttentionOp(ValueId qkv, ValueId out, ValueId merged, GroupKvPages pages,
              std::vector<HeadSlice> heads, const std::vector<ColumnSlice>& columns,
              const AttentionShape& shape, uint32_t threads, const AttendSchedule& schedule)
      : qkv_(qkv),
        out_(out),
        merged_(merged),
        pages_(std::move(pages)),
        heads_(std::move(heads)),
        shape_(shape),
        threads_(threads),
        places_(schedule.places),
        enough_(enough_tasks(threads, schedule)) {
    for (const ColumnSlice& slice : columns) columns_.push_back(slice.column);
    most_ = 1;
    for (const HeadSlice& slice : heads_) {
      for (uint32_t head = slice.kv.begin; head < slice.kv.end; ++head) {
        most_ = std::max(most_, slice.queries_of(head, shape.group_size).size());
      }
    }
    // A kernel call takes the query heads of a KV head, at most kMaxQueryRows rows, and a tile that
    // fits.
    const size_t fit = kAttentionTileFloats / (size_t{shape.granule} * most_ * shape.value_length);
    HEARTH_CHECK(fit > 0, "a row of results fits into a tile");
    tile_rows_ = static_cast<uint32_t>(std::clamp<size_t>(kMaxQueryRows / most_, 1, fit));
  }

  // Returns how many tasks a local shard needs to keep its threads evenly busy. Where there are
  // fewer units than that, they are cut into pieces.
  static uint32_t enough_tasks(uint32_t threads, const AttendSchedule& schedule) {
    constexpr uint32_t kByHand = 4;
    return threads == 1 ? 1 : threads * (schedule.tasks == 0 ? kByHand : schedule.tasks);
  }
  // Returns the floats of the sums of all spans merged so far, over a unit's heads.
  static size_t unit_floats(const AttentionShape& shape) {
    return shape.granule * row_sums_floats(kMaxQueryRows, shape.value_length);
  }

  bool attends() const override { return true; }
  uint32_t counters() const override { return local_shard_count(); }
  // One flag for each piece: units * ceil(enough_ / units) < enough_ + units < 2 enough_.
  uint32_t flags() const override { return local_shard_count() * 2 * enough_; }

  // Counts a score and a weighted sum over a head's elements for every visible pair of query and
  // position. Keys and values that are not cached count as activations, not as KV bytes.
  OpLoad load(const StepSizes& step) const override {
    const KvType type = pages_.cached() ? step.kv_type : KvType::kF32;
    const ArithmeticUnit unit = arithmetic_unit_for(type, step.units);
    const size_t page_bytes =
        kv_half_bytes(type, shape_.key_length) + kv_half_bytes(type, shape_.value_length);
    OpLoad load;
    uint64_t queries = 0;
    for (const HeadSlice& slice : heads_) {
      queries += slice.queries.size();
      for (const StepItem& item : step.items) {
        const Visible seen = visible_to(item, 0, item.rows);
        if (pages_.cached()) {
          load.of_shard(slice.shard).kv +=
              slice.kv.size() * seen.positions * (page_bytes / kPagePositions);
        }
        load.attention_operations +=
            slice.queries.size() * seen.pairs * 2 * (shape_.key_length + shape_.value_length);
      }
    }
    load.of(unit) = load.attention_operations;
    const double result_bytes = shape_.value_length * written_bytes(step.graph, out_);
    load.shared_bytes = static_cast<double>(queries) * step.rows *
                        (shape_.key_length * sizeof(float) + result_bytes);
    return load;
  }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    uint32_t tiles = 0;
    for (const StepItem& item : context.step().items) tiles += tiles_of(item);
    for (uint32_t local_shard : context.local_shards(worker.member)) {
      UnitRange kv = heads_[local_shard].kv;
      // Granules are counted from the model's first KV head, since there they fill whole blocks.
      uint32_t first = kv.begin / shape_.granule;
      uint32_t granules = (kv.end + shape_.granule - 1) / shape_.granule - first;
      uint32_t units = kv.size() == 0 ? 0 : tiles * granules;
      uint32_t pieces = pieces_of(context, units), count = units * pieces;
      auto task_at = [&](uint32_t t) {
        uint32_t unit = t % units;
        uint32_t head = (first + unit % granules) * shape_.granule;
        UnitRange heads{std::max(kv.begin, head), std::min(kv.end, head + shape_.granule)};
        // The last tiles of a causal prompt go first, since they see the most positions.
        Task task = find_task(context, local_shard, heads, tiles - 1 - unit / granules);
        task.unit = unit;
        task.piece = t / units;
        task.pieces = pieces;
        return task;
      };
      // A thread takes several consecutive units, so that the last page of a unit prefetches the
      // first page of the next unit. It takes one unit at a time if some units take much longer
      // than others, or if units are cut into pieces, since each piece waits for the one before.
      const bool runs = pieces == 1 && units_are_alike(context);
      const uint32_t takers = runs ? threads_ : count;
      auto claim = [&] {
        return context.claim_several(sync.counter0 + local_shard, count, takers);
      };
      for (ChunkClaim run; (run = claim()).begin < count;) {
        Task task = task_at(run.begin);
        for (uint32_t t = run.begin + 1; t <= run.end; ++t) {
          const Task next = t < run.end ? task_at(t) : Task{};
          run_task(context, task, next, sync.flag0, worker);
          task = next;
        }
      }
    }
  }

 private:
  // A worker's scratch: the output tile, the list of pages, sums of spans, then the kernel's own.
  static constexpr size_t kOutBytes = kAttentionTileFloats * sizeof(float);
  static constexpr size_t kPagesBytes = kOpTileBytes / 4;
  static constexpr size_t kSumsBytes = kOpTileBytes / 2;
  static_assert(kMaxContext / kPagePositions * sizeof(KvPage) <= kPagesBytes);

  uint32_t local_shard_count() const noexcept { return static_cast<uint32_t>(heads_.size()); }

  uint32_t tiles_of(const StepItem& item) const noexcept {
    return (item.rows + tile_rows_ - 1) / tile_rows_;
  }

  // Counts the positions and pairs that rows [row, row + rows) of the item see.
  Visible visible_to(const StepItem& item, uint32_t row, uint32_t rows) const noexcept {
    if (shape_.mask == Mask::kCausal) {
      return visible(uint64_t{pages_.first_position(item)} + row, rows, shape_.window);
    }
    const uint64_t all = uint64_t{last_seen(item, row)} + 1;
    return {all, all * rows};
  }

  // Returns the last position that row `row` of the item sees.
  uint32_t last_seen(const StepItem& item, uint32_t row) const noexcept {
    return pages_.first_position(item) + (shape_.mask == Mask::kCausal ? row : item.rows - 1);
  }

  // Returns the positions that rows [row, row + rows) of the item see.
  UnitRange seen_by(const StepItem& item, uint32_t row, uint32_t rows) const noexcept {
    const uint32_t end = last_seen(item, row + rows - 1) + 1;
    return {end - static_cast<uint32_t>(visible_to(item, row, rows).positions), end};
  }

  UnitRange spans_of(const StepItem& item, uint32_t row, uint32_t rows) const noexcept {
    UnitRange seen = seen_by(item, row, rows);
    return {seen.begin / kSpanPositions, (seen.end - 1) / kSpanPositions + 1};
  }

  // Returns whether no unit takes more than twice the mean time.
  bool units_are_alike(const ExecutionContext& context) const noexcept {
    uint64_t most = 0, all = 0, tiles = 0;
    for (const StepItem& item : context.step().items) {
      const uint64_t seen = seen_by(item, item.rows - 1, 1).size();
      const uint64_t pairs = seen * std::min(item.rows, tile_rows_);
      most = std::max(most, pairs);
      all += pairs * tiles_of(item);
      tiles += tiles_of(item);
    }
    return most * tiles <= 2 * all;
  }

  // Returns the number of pieces that each of a local shard's units is cut into.
  uint32_t pieces_of(const ExecutionContext& context, uint32_t units) const noexcept {
    if (units == 0 || units >= enough_ || most_ > kMaxQueryRows) return 1;
    uint32_t spans = 1;
    for (const StepItem& item : context.step().items) {
      spans = std::max(spans, spans_of(item, item.rows - 1, 1).size());
    }
    return std::min((enough_ + units - 1) / units, spans);
  }

  Task find_task(const ExecutionContext& context, uint32_t local_shard, UnitRange kv_heads,
                 uint32_t tile) const noexcept {
    const HeadSlice& slice = heads_[local_shard];
    for (const StepItem& item : context.step().items) {
      uint32_t count = tiles_of(item);
      if (tile >= count) {
        tile -= count;
        continue;
      }
      Task task{};
      task.item = &item;
      task.row = tile * tile_rows_;
      task.rows = std::min(tile_rows_, item.rows - task.row);
      task.local_shard = local_shard;
      task.kv_heads = kv_heads;
      task.queries = {slice.queries_of(kv_heads.begin, shape_.group_size).begin,
                      slice.queries_of(kv_heads.end - 1, shape_.group_size).end};
      task.spans = spans_of(item, task.row, task.rows);
      return task;
    }
    HEARTH_CHECK(false, "every tile belongs to an item");
  }

  // Returns the first page that a KV head of the task visits; an empty page without a task.
  KvPage first_page(const ExecutionContext& context, const Task& task,
                    uint32_t head) const noexcept {
    if (task.item == nullptr) return {};
    return page_of(context, task, head,
                   seen_by(*task.item, task.row, task.rows).begin / kPagePositions);
  }

  KvPage page_of(const ExecutionContext& context, const Task& task, uint32_t head,
                 uint32_t page) const noexcept {
    const HeadSlice& slice = heads_[task.local_shard];
    return pages_.page(context, task.local_shard, *task.item, page, head - slice.kv.begin);
  }

  // Runs a task. `next` is the task that the worker runs after this one.
  void run_task(ExecutionContext& context, const Task& task, const Task& next, uint32_t flag0,
                const Worker& worker) const noexcept {
    if (task.pieces == 1) {
      for (uint32_t head = task.kv_heads.begin; head < task.kv_heads.end; ++head) {
        const bool last = head + 1 == task.kv_heads.end;
        const KvPage after = last ? first_page(context, next, next.kv_heads.begin)
                                  : first_page(context, task, head + 1);
        attend(context, task, head, task.spans, nullptr, after, worker);
      }
    } else {
      run_piece(context, task, flag0, worker);
      if (task.piece + 1 < task.pieces) return;
    }
    write_out(context, task, worker);
  }

  // Computes the sums of a piece's spans, as many spans at a time as the scratch has room for, and
  // merges each result.
  void run_piece(ExecutionContext& context, const Task& task, uint32_t flag0,
                 const Worker& worker) const noexcept {
    const uint32_t flag =
        flag0 + task.local_shard + local_shard_count() * (task.unit * task.pieces + task.piece);
    const uint32_t end = cut(task, task.piece + 1);
    const size_t floats = row_sums_floats(task.rows * most_, shape_.value_length);
    const auto fit = static_cast<uint32_t>(kSumsBytes / sizeof(float) / floats / shape_.granule);
    auto* sums = reinterpret_cast<float*>(worker.scratch + kOutBytes + kPagesBytes);
    uint32_t begin = cut(task, task.piece);
    bool first = true;
    do {
      const UnitRange spans{begin, std::min(begin + fit, end)};
      for (uint32_t head = task.kv_heads.begin, i = 0; head < task.kv_heads.end; ++head, ++i) {
        attend(context, task, head, spans, sums + i * fit * floats, {}, worker);
      }
      if (first && task.piece > 0) context.wait_for(flag - local_shard_count());
      for (uint32_t head = task.kv_heads.begin, i = 0; head < task.kv_heads.end; ++head, ++i) {
        merge(context, task, head, spans, sums + i * fit * floats, worker);
      }
      begin = spans.end;
      first = false;
    } while (begin < end);
    context.post(flag);
  }

  static uint32_t cut(const Task& task, uint32_t piece) noexcept {
    return task.spans.begin + task.spans.size() * piece / task.pieces;
  }

  // Lets one KV head's query heads attend to `spans`. If `sums` is null, `spans` are all spans that
  // the rows see, and the results go into the output tile. Else the sums of `spans` go to `sums`.
  void attend(ExecutionContext& context, const Task& task, uint32_t head, UnitRange spans,
              float* sums, const KvPage& after, const Worker& worker) const noexcept {
    const HeadSlice& slice = heads_[task.local_shard];
    auto* pages = reinterpret_cast<KvPage*>(worker.scratch + kOutBytes);
    const uint32_t seen = last_seen(*task.item, task.row + task.rows - 1) / kPagePositions;
    for (uint32_t p = spans.begin * kSpanPages; p < spans.end * kSpanPages && p <= seen; ++p) {
      pages[p] = page_of(context, task, head, p);
    }
    const uint32_t total = task.rows * slice.queries_of(head, shape_.group_size).size();
    for (uint32_t done = 0; done < total; done += kMaxQueryRows) {
      const HeadRows rows = rows_of(context, task, head, done);
      context.kernels().attend[static_cast<size_t>(pages_.type(context))](
          {.q = context.f32(qkv_),
           .q_offset = rows.q_offset,
           .last = rows.last,
           .rows = rows.count,
           .window = shape_.window,
           .pages = pages,
           .key_length = shape_.key_length,
           .value_length = shape_.value_length,
           .scale = shape_.scale,
           .out = reinterpret_cast<float*>(worker.scratch),
           .out_offset = rows.out_offset,
           .scratch = worker.scratch + kOpTileBytes,
           .sums = sums,
           .span0 = spans.begin,
           .span1 = spans.end,
           .after = done + rows.count == total ? after : KvPage{},
           .four_places = (places_ == 0 ? context.kernels().attend_places : places_) == 4,
           .slope = shape_.slopes.empty() ? nullptr : rows.slope,
           .position = shape_.slopes.empty() ? nullptr : rows.position,
           .sink = sinks_of(rows)});
    }
  }

  // Merges `sums`, which are those of `spans`, into the merged sums of the unit's earlier spans.
  // After the unit's last spans, writes the results into the output tile.
  void merge(ExecutionContext& context, const Task& task, uint32_t head, UnitRange spans,
             float* sums, const Worker& worker) const noexcept {
    const size_t unit = size_t{task.local_shard} * enough_ + task.unit;
    float* merged = context.f32(merged_) + unit_floats(shape_) * unit;
    merged += row_sums_floats(kMaxQueryRows, shape_.value_length) * (head - task.kv_heads.begin);
    const HeadRows rows = rows_of(context, task, head, 0);
    const bool last = spans.end == task.spans.end;
    context.kernels().merge_spans({.sums = sums,
                                   .spans = spans.size(),
                                   .rows = rows.count,
                                   .value_length = shape_.value_length,
                                   .merged = merged,
                                   .first = spans.begin == task.spans.begin,
                                   .out = last ? reinterpret_cast<float*>(worker.scratch) : nullptr,
                                   .out_offset = rows.out_offset,
                                   .sink = sinks_of(rows)});
  }

  // The rows of a kernel call: query heads of a KV head, token by token.
  struct HeadRows {
    uint32_t count;
    size_t q_offset[kMaxQueryRows], out_offset[kMaxQueryRows];
    uint32_t last[kMaxQueryRows];
    float slope[kMaxQueryRows];  // if the layer has slopes
    uint32_t position[kMaxQueryRows];
    float sink[kMaxQueryRows];  // if the layer has sinks
  };
  const float* sinks_of(const HeadRows& rows) const noexcept {
    return shape_.sinks == nullptr ? nullptr : rows.sink;
  }

  // Returns as many rows of the task as a kernel call takes, from row `done` on.
  HeadRows rows_of(const ExecutionContext& context, const Task& task, uint32_t head,
                   uint32_t done) const noexcept {
    const HeadSlice& slice = heads_[task.local_shard];
    const UnitRange queries = slice.queries_of(head, shape_.group_size);
    const size_t q_stride = shape_.query_stride(), out_length = shape_.value_length;
    const size_t q_column = slice.q_column + (queries.begin - slice.queries.begin) * q_stride;
    const size_t out_column = (queries.begin - task.queries.begin) * out_length;
    HeadRows rows;
    rows.count = std::min(kMaxQueryRows, task.rows * queries.size() - done);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t r = (done + i) / queries.size(), h = (done + i) % queries.size();
      const size_t row = size_t{task.item->first_row} + task.row + r;
      rows.q_offset[i] = row * context.f32_stride(qkv_) + q_column + h * q_stride;
      rows.out_offset[i] = (r * task.queries.size() + h) * out_length + out_column;
      rows.last[i] = last_seen(*task.item, task.row + r);
      if (shape_.sinks != nullptr) {
        rows.sink[i] = shape_.sinks->copies[slice.shard][queries.begin + h];
      }
      if (shape_.slopes.empty()) continue;
      rows.slope[i] = shape_.slopes[queries.begin + h];
      rows.position[i] = pages_.first_position(*task.item) + task.row + r;
    }
    return rows;
  }

  // Multiplies each head's results by the sigmoid of its gate.
  void close_gates(ExecutionContext& context, const Task& task, float* tile) const noexcept {
    const HeadSlice& slice = heads_[task.local_shard];
    const uint32_t length = shape_.value_length, stride = shape_.query_stride();
    const size_t column = slice.q_column + shape_.key_length +
                          size_t{task.queries.begin - slice.queries.begin} * stride;
    for (uint32_t r = 0; r < task.rows; ++r) {
      const size_t row = size_t{task.item->first_row} + task.row + r;
      const float* gates = context.f32(qkv_) + row * context.f32_stride(qkv_) + column;
      for (uint32_t h = 0; h < task.queries.size(); ++h, tile += length) {
        context.kernels().sigmoid_mul({tile, gates + size_t{h} * stride, length, tile});
      }
    }
  }

  // Writes the output tile in all formats that readers of the value ask for.
  void write_out(ExecutionContext& context, const Task& task, const Worker& worker) const noexcept {
    const uint32_t width = task.queries.size() * shape_.value_length;
    const uint32_t lead =
        (task.queries.begin - heads_[task.local_shard].queries.begin) * shape_.value_length;
    auto* tile = reinterpret_cast<float*>(worker.scratch);
    if (shape_.gated) close_gates(context, task, tile);
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      for (uint32_t r = 0; r < task.rows; ++r) {
        context.kernels().quantize[f]({tile + size_t{r} * width, columns_[task.local_shard] + lead,
                                       width, context.buffer(out_, format),
                                       size_t{task.item->first_row} + task.row + r});
      }
    }
  }

  ValueId qkv_, out_, merged_;
  GroupKvPages pages_;
  std::vector<HeadSlice> heads_;
  std::vector<uint32_t> columns_;
  AttentionShape shape_;
  uint32_t threads_;  // that share a local shard
  uint32_t places_;   // as AttendSchedule's
  uint32_t enough_;
  uint32_t most_;  // query heads of a KV head
  uint32_t tile_rows_;
};

}  // namespace

std::vector<float> alibi_slopes(uint32_t heads, float max_bias) {
  const uint32_t whole = std::bit_floor(heads);
  std::vector<float> slopes;
  for (uint32_t h = 0; h < heads; ++h) {
    const double step = h < whole ? h + 1 : (2.0 * (h - whole) + 1) / 2;
    slopes.push_back(static_cast<float>(std::exp2(-double{max_bias} * step / whole)));
  }
  return slopes;
}

Bundle attention(GraphBuilder& builder, std::string name, const LinearOut& qkv, const Bundle& kv,
                 const AttentionShape& shape, const Weight& output) {
  HEARTH_CHECK(kv.values.empty() == (shape.kept == KvKept::kCached), "keys and values of the step");
  HEARTH_CHECK(shape.window == 0 || shape.mask == Mask::kCausal, "a window ends at its row");
  HEARTH_CHECK(shape.slopes.empty() || shape.slopes.size() == shape.kv_heads * shape.group_size,
               "a slope of each query head");
  HEARTH_CHECK(shape.sinks == nullptr || shape.sinks->size == shape.kv_heads * shape.group_size,
               "a sink of each query head");
  const Plan& plan = builder.plan();
  const AttendSchedule schedule =
      plan.phase == Phase::kDecode ? builder.schedules().attend : AttendSchedule{};
  Bundle out = column_values(builder, output), merged;
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = plan.groups[g];
    const uint32_t threads = threads_per_shard(group);
    std::vector<HeadSlice> heads = head_slices(qkv, g, shape);
    GroupKvPages pages(kv, g, heads, shape);
    const size_t units = heads.size() * AttentionOp::enough_tasks(threads, schedule);
    merged.values.push_back(builder.add_value(
        RowSet::kOne, static_cast<uint32_t>(units * AttentionOp::unit_floats(shape)), g));
    ops.push_back(std::make_unique<AttentionOp>(
        qkv.bundle.values[g], out.values[g], merged.values[g], std::move(pages), std::move(heads),
        column_slices(*output.cuts, output.unit, output.k, group.share), shape, threads, schedule));
  }
  builder.reads(qkv.bundle, ActFormat::kF32);
  builder.reads(kv, ActFormat::kF32);
  builder.reads(merged, ActFormat::kF32);
  builder.writes(merged);
  builder.writes(out);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

}  // namespace hearth
