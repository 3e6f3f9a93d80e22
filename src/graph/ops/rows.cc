#include "graph/ops/rows.h"

#include <algorithm>

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/weight_work.h"

namespace hearth {
namespace {

// A group's rows dealt out to its threads in contiguous runs.
struct RowRange {
  uint32_t begin, end;
};
RowRange rows_of(const Worker& worker, uint32_t rows) {
  return {static_cast<uint32_t>(uint64_t{rows} * worker.index / worker.count),
          static_cast<uint32_t>(uint64_t{rows} * (worker.index + 1) / worker.count)};
}

class EmbedOp : public Op {
 public:
  EmbedOp(const Weight& table, ValueId out) : table_(table), out_(out) {}
  void run(ExecutionContext& context, uint32_t, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.step().rows());
    for (uint32_t r = range.begin; r < range.end; ++r) {
      weight_row(table_, static_cast<uint32_t>(context.step().tokens[r]),
                 context.f32(out_) + r * context.f32_stride(out_));
    }
  }

 private:
  const Weight& table_;
  ValueId out_;
};

class RopeAnglesOp : public Op {
 public:
  RopeAnglesOp(const RopeTable& table, ValueId out) : table_(table), out_(out) {}
  void run(ExecutionContext& context, uint32_t, const Worker& worker) const noexcept override {
    size_t half = table_.inverse_frequency.size();
    RowRange range = rows_of(worker, context.step().rows());
    for (uint32_t r = range.begin; r < range.end; ++r) {
      float* row = context.f32(out_) + r * context.f32_stride(out_);
      hearth::rope_angles(table_, context.step().positions[r], row, row + half);
    }
  }

 private:
  RopeTable table_;
  ValueId out_;
};

// The norm of one row of x, through a row of scratch, into every format that is wanted.
struct NormTarget {
  NormWeight norm;
  uint32_t shard;  // whose copy of the weights is read
  ValueId out;
  bool hidden = false;  // also gives the step the hidden states that it wants

  void write(ExecutionContext& context, const float* x, uint32_t row,
             float* scratch) const noexcept {
    uint32_t n = norm.weight->size;
    context.kernels().rms_norm({x, norm.weight->copies[shard], n, norm.eps, scratch});
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!context.wants(out, format)) continue;
      context.kernels().quantize[f]({scratch, 0, n, context.buffer(out, format), row});
    }
  }

  // Of rows [0, rows) of x: those that `out` holds.
  void write_rows(ExecutionContext& context, ValueId x, const Worker& worker) const noexcept {
    RowRange range = rows_of(worker, context.rows(out));
    bool picked = context.graph().values[out].rows == RowSet::kOutputs;
    for (uint32_t r = range.begin; r < range.end; ++r) {
      uint32_t from = picked ? context.step().outputs[r] : r;
      auto* scratch = reinterpret_cast<float*>(worker.scratch);
      write(context, context.f32(x) + from * context.f32_stride(x), r, scratch);
      if (hidden && r >= context.step().logit_rows) {
        size_t row = r - context.step().logit_rows;
        std::copy_n(scratch, norm.weight->size, context.step().hidden + row * norm.weight->size);
      }
    }
  }
};

class NormOp : public Op {
 public:
  NormOp(ValueId x, const NormTarget& target) : x_(x), target_(target) {}
  void run(ExecutionContext& context, uint32_t, const Worker& worker) const noexcept override {
    target_.write_rows(context, x_, worker);
  }

 private:
  ValueId x_;
  NormTarget target_;
};

// What every group's reduce sums, and how.
struct ReducePlan {
  std::vector<ValueId> partials;
  std::vector<int32_t> program;
  const VectorWeight* bias;
  uint32_t depth;  // of the program's stack
};

uint32_t stack_depth(const std::vector<int32_t>& program) {
  uint32_t depth = 0, most = 0;
  for (int32_t step : program) {
    depth = step == kAdd ? depth - 1 : depth + 1;
    most = std::max(most, depth);
  }
  return most;
}

class ReduceOp : public Op {
 public:
  ReduceOp(ValueId x, ValueId out, const ReducePlan& plan, const NormTarget& norm, bool has_norm)
      : x_(x), out_(out), plan_(plan), norm_(norm), has_norm_(has_norm) {}

  void run(ExecutionContext& context, uint32_t, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.rows(x_));
    auto* scratch = reinterpret_cast<float*>(worker.scratch);
    for (uint32_t r = range.begin; r < range.end; ++r) {
      float* out = context.f32(out_) + r * context.f32_stride(out_);
      sum_row(context, r, out, scratch);
      if (has_norm_) norm_.write(context, out, r, scratch);
    }
  }

 private:
  void sum_row(ExecutionContext& context, uint32_t row, float* out, float* stack) const noexcept {
    uint32_t n = context.graph().values[x_].width;
    const float* x = context.f32(x_) + row * context.f32_stride(x_);
    const float* slots[8];
    uint32_t depth = 0;
    for (int32_t step : plan_.program) {
      if (step != kAdd) {
        ValueId partial = plan_.partials[static_cast<size_t>(step)];
        slots[depth++] = context.f32(partial) + row * context.f32_stride(partial);
        continue;
      }
      --depth;
      float* sum = stack + size_t{depth - 1} * n;
      const float* a = slots[depth - 1];
      const float* b = slots[depth];
      for (uint32_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
      slots[depth - 1] = sum;
    }
    const float* total = slots[0];
    if (plan_.bias) {
      const float* bias = plan_.bias->copies[norm_.shard];
      for (uint32_t i = 0; i < n; ++i) out[i] = x[i] + (total[i] + bias[i]);
    } else {
      for (uint32_t i = 0; i < n; ++i) out[i] = x[i] + total[i];
    }
  }

  ValueId x_, out_;
  ReducePlan plan_;
  NormTarget norm_;
  bool has_norm_;
};

class LogitsOp : public Op {
 public:
  LogitsOp(ValueId x, const Weight& head, const std::vector<RowSlice>& slices, uint32_t threads)
      : x_(x), head_(head), tasks_(slices.size()) {
    for (size_t slot = 0; slot < slices.size(); ++slot) {
      const RowSlice& slice = slices[slot];
      HEARTH_CHECK(slice.lead == 0, "vocabulary units are whole panels");
      work_.add(head, slice);
      const Shard& shard = head.shards[slice.shard];
      for (PanelRange r : panel_ranges(slice.panel0, slice.panels,
                                       task_panels(shard.spec, slice.panels, threads))) {
        tasks_[slot].push_back({slice.shard, r, shard.row0 + r.panel0 * kPanelRows});
      }
    }
  }

  uint32_t counters() const override { return static_cast<uint32_t>(tasks_.size()); }

  OpWork work(const ExecutionContext& context) const override {
    return work_.of(context.step().logit_rows, units_of(context.kernels().limits));
  }

  void run(ExecutionContext& context, uint32_t counter0,
           const Worker& worker) const noexcept override {
    uint32_t rows = context.step().logit_rows;
    if (rows == 0) return;
    size_t stride = context.step().logits_stride;
    for (uint32_t slot : *worker.shards) {
      auto count = static_cast<uint32_t>(tasks_[slot].size());
      for (uint32_t t; (t = context.claim(counter0 + slot, count)) < count;) {
        const Task& task = tasks_[slot][t];
        const Shard& shard = head_.shards[task.shard];
        gemm_for(context, head_)({weight_view(shard.spec, shard.codes, shard.scales),
                                  task.panels.panel0, task.panels.panels, 0, shard.spec.blocks(),
                                  context.view(x_, format_for(head_)), rows,
                                  context.step().logits + task.column, stride, worker.scratch});
      }
    }
  }

 private:
  struct Task {
    uint32_t shard;
    PanelRange panels;
    uint32_t column;
  };
  ValueId x_;
  const Weight& head_;
  std::vector<std::vector<Task>> tasks_;
  WeightWork work_;
};

std::vector<uint32_t> same_width(const GraphBuilder& builder, size_t width) {
  return std::vector<uint32_t>(builder.group_count(), static_cast<uint32_t>(width));
}

uint32_t first_shard(const GraphBuilder& builder, uint32_t group) {
  return builder.plan().groups[group].share.shard_begin;
}

template <typename MakeOp>
std::vector<std::unique_ptr<Op>> op_per_group(const GraphBuilder& builder, const MakeOp& make) {
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) ops.push_back(make(g));
  return ops;
}

}  // namespace

Bundle embed(GraphBuilder& builder, const Weight& table) {
  Bundle out = builder.add_values(RowSet::kTokens, same_width(builder, table.k));
  builder.writes(out);
  builder.append(Mode::kParallel, "embed", op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<EmbedOp>(table, out.values[g]);
                 }));
  return out;
}

Bundle rope_angles(GraphBuilder& builder, const RopeTable& table) {
  size_t width = 2 * table.inverse_frequency.size();
  Bundle out = builder.add_values(RowSet::kTokens, same_width(builder, width));
  builder.writes(out);
  builder.append(Mode::kParallel, "rope_angles", op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<RopeAnglesOp>(table, out.values[g]);
                 }));
  return out;
}

Bundle rms_norm(GraphBuilder& builder, std::string name, const Bundle& x, const NormWeight& norm,
                RowSet rows) {
  Bundle out = builder.add_values(rows, same_width(builder, norm.weight->size));
  builder.reads(x, ActFormat::kF32);
  builder.writes(out);
  builder.append(Mode::kParallel, std::move(name), op_per_group(builder, [&](uint32_t g) {
                   bool hidden = rows == RowSet::kOutputs && g == 0;
                   NormTarget target{norm, first_shard(builder, g), out.values[g], hidden};
                   return std::make_unique<NormOp>(x.values[g], target);
                 }));
  return out;
}

Reduced reduce_add_norm(GraphBuilder& builder, const std::string& name, const Bundle& x,
                        const Partials& partials, const NormWeight& norm, RowSet norm_rows) {
  uint32_t width = partials.weight->rows;
  ReducePlan plan{partials.bundle.values, sum_program(partials.pieces, *partials.weight->cuts),
                  partials.bias, 0};
  plan.depth = stack_depth(plan.program);
  HEARTH_CHECK(plan.depth <= 8 && plan.depth * width * sizeof(float) <= kOpTileBytes,
               "the reduce's stack fits");
  bool fused = norm_rows == RowSet::kTokens;
  Reduced out;
  out.x = builder.add_values(RowSet::kTokens, same_width(builder, width));
  if (fused) out.normed = builder.add_values(RowSet::kTokens, same_width(builder, width));
  builder.reads(x, ActFormat::kF32);
  builder.reads(partials.bundle, ActFormat::kF32);
  builder.writes(out.x);
  builder.writes(out.normed);
  builder.append(
      Mode::kReduce, name, op_per_group(builder, [&](uint32_t g) {
        NormTarget target{norm, first_shard(builder, g), fused ? out.normed.values[g] : 0};
        return std::make_unique<ReduceOp>(x.values[g], out.x.values[g], plan, target, fused);
      }));
  if (!fused) out.normed = rms_norm(builder, name + "_norm", out.x, norm, norm_rows);
  return out;
}

void logits(GraphBuilder& builder, const Bundle& x, const Weight& head) {
  builder.reads(x, format_for(head));
  builder.append(Mode::kParallel, "logits", op_per_group(builder, [&](uint32_t g) {
                   uint32_t width = 0;
                   return std::make_unique<LogitsOp>(
                       x.values[g], head, row_slices(head, builder.plan().groups[g].share, &width),
                       threads_per_shard(builder.plan().groups[g]));
                 }));
}

}  // namespace hearth
