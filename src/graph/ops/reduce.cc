#include "graph/ops/reduce.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

// The depth of the stack of sums: a binary tree over up to 2^15 pieces.
constexpr uint32_t kMaxDepth = 16;

// The summands of every group's reduce, and the order in which they are summed.
struct ReducePlan {
  Bundle x, held;  // `held`: the result that the reduce before held, or none
  std::vector<ValueId> partials;
  std::vector<int32_t> program;
  const VectorWeight* bias;
  Join join;
  RowSet rows;
  bool dealt;
  uint32_t workers;  // of all groups, to whom rows are dealt
  uint32_t columns;  // columns of the stack of sums, a multiple of 32
  uint32_t width;
};

uint32_t stack_depth(const std::vector<int32_t>& program) {
  uint32_t depth = 0, most = 0;
  for (int32_t step : program) {
    depth = step == kAdd ? depth - 1 : depth + 1;
    most = std::max(most, depth);
  }
  return most;
}

// Returns how many columns of the stack of sums fit into scratch behind a row. The row is a sum
// that is not kept, or a norm.
uint32_t stack_columns(uint32_t width, uint32_t depth) {
  HEARTH_CHECK(width <= kMaxReduceWidth, "a row of a reduce fits a thread's scratch");
  HEARTH_CHECK(depth > 0 && depth <= kMaxDepth, "the reduce's stack is deep enough");
  auto room = static_cast<uint32_t>(kOpTileBytes / sizeof(float)) - width;
  return room / depth / 32 * 32;
}

class ReduceOp : public Op {
 public:
  // The op writes x' to out.x, except with kOutputs or if the join holds. It writes the norms to
  // the copies of all groups.
  ReduceOp(const ReducePlan& plan, uint32_t group, uint32_t shard, const Reduced& out)
      : plan_(plan), group_(group) {
    if (plan.join.holds) held_ = out.held.values[group];
    if (plan.rows == RowSet::kTokens && !plan.join.holds) next_ = out.x.values[group];
    norms_.push_back({{plan.join.next, shard, out.normed.values[group], plan.width}, {}});
    if (plan.join.second) {
      norms_.push_back({{*plan.join.second, shard, out.second.values[group], plan.width}, {}});
    }
    const Bundle* bundles[] = {&out.normed, &out.second};
    for (size_t i = 0; i < norms_.size(); ++i) {
      auto groups = static_cast<uint32_t>(bundles[i]->values.size());
      for (uint32_t shift = 1; plan.dealt && shift < groups; ++shift) {
        norms_[i].copies.push_back(bundles[i]->values[(group + shift) % groups]);
      }
    }
  }

  OpLoad load(const StepSizes& step) const override {
    const Plan& plan = step.graph.plan;
    const PlanGroup& group = plan.groups[group_];
    const uint32_t n = plan_.width;
    double normed_bytes = 0;
    for (const Norm& norm : norms_) {
      normed_bytes += n * act_element_bytes_of(step.graph.values[norm.target.out].formats);
    }
    OpLoad load;
    load.rows.rows = plan_.rows == RowSet::kOutputs ? step.outputs : step.rows;
    load.rows.elements = n;
    load.rows.dealt = plan_.dealt;
    load.rows.copy_bytes = normed_bytes;
    load.rows.read_bytes.assign(plan.group_count(), 0);
    for (ValueId partial : plan_.partials) {
      load.rows.read_bytes[step.graph.values[partial].group] +=
          static_cast<double>(sizeof(float)) * n;
    }
    double part = 1;
    if (plan_.dealt) part = static_cast<double>(group.size()) / plan_.workers;
    // The residual is read and written.
    load.shared_bytes = part * load.rows.rows * (2.0 * sizeof(float) * n + normed_bytes);
    return load;
  }

  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    bool picked = plan_.rows == RowSet::kOutputs;
    bool kept = next_ && context.wants(*next_, ActFormat::kF32);
    uint32_t rows = context.rows(norms_[0].target.out);
    RowRange range =
        plan_.dealt ? deal_rows(rows, worker.place, plan_.workers) : rows_of(worker, rows);
    auto* scratch = reinterpret_cast<float*>(worker.scratch);
    for (uint32_t r = range.begin; r < range.end; ++r) {
      uint32_t from = picked ? context.step().outputs[r] : r;
      const float* x = row_of(context, plan_.x, from);
      if (held_) {
        hold(context, r, scratch + plan_.width);
        give_norms(context, x, r, scratch);
        continue;
      }
      float* sum = kept ? context.f32(*next_) + r * context.f32_stride(*next_) : scratch;
      float* normed = plan_.join.place == NormPlace::kAfterResidual ? sum : scratch;
      join(context, from, x, sum, scratch + plan_.width);
      give_norms(context, sum, r, normed);
      if (picked) give_hidden(context, normed, r);
    }
  }

 private:
  struct Norm {
    NormTarget target;
    std::vector<ValueId> copies;  // of the other groups, beginning with the next group
  };
  uint32_t shard() const { return norms_[0].target.shard; }

  // Computes x' of a row into `sum`.
  void join(ExecutionContext& context, uint32_t row, const float* x, float* sum,
            float* stack) const noexcept {
    const Join& by = plan_.join;
    const Kernels& kernels = context.kernels();
    const uint32_t n = plan_.width;
    const bool apart = by.behind || by.outer || !plan_.held.values.empty();
    sum_row(context, row, apart ? nullptr : x, sum, stack);
    if (by.behind) norm_row(context, *by.behind, shard(), sum, sum);
    if (!plan_.held.values.empty()) {
      kernels.add_vectors({row_of(context, plan_.held, row), sum, nullptr, n, sum});
    }
    if (by.outer) norm_row(context, *by.outer, shard(), sum, sum);
    if (apart) kernels.add_vectors({x, sum, nullptr, n, sum});
    if (by.inner) {
      norm_row(context, *by.inner, shard(), sum, sum);
      kernels.add_vectors({x, sum, nullptr, n, sum});
    }
    if (by.scale == nullptr) return;
    const float scale = by.scale->copies[shard()][0];
    for (uint32_t i = 0; i < n; ++i) sum[i] *= scale;
  }

  void hold(ExecutionContext& context, uint32_t row, float* stack) const noexcept {
    float* held = context.f32(*held_) + row * context.f32_stride(*held_);
    sum_row(context, row, nullptr, held, stack);
    if (plan_.join.behind) norm_row(context, *plan_.join.behind, shard(), held, held);
  }

  // Writes the norms of the row x. `normed` is scratch for one row; with a single norm it may be x.
  void give_norms(ExecutionContext& context, const float* x, uint32_t row,
                  float* normed) const noexcept {
    for (const Norm& norm : norms_) {
      norm.target.write(context, x, row, normed);
      copy_row(context, norm, row);
    }
  }

  // Sums y, plus x unless that is null. Groups that sum the same row at the same time begin with
  // different columns, so that they do not all ask for one line (Sandwich's rank shift, section
  // 7.2). The order of the summands is the same for all.
  void sum_row(ExecutionContext& context, uint32_t row, const float* x, float* out,
               float* stack) const noexcept {
    uint32_t n = plan_.width;
    uint32_t slices = plan_.dealt ? 1 : context.graph().plan.group_count();
    for (uint32_t i = 0; i < slices; ++i) {
      uint32_t slice = (group_ + i) % slices;
      uint32_t begin = column(n, slice, slices), end = column(n, slice + 1, slices);
      for (; begin < end; begin += plan_.columns) {
        sum_columns(context, row, {begin, std::min(end, begin + plan_.columns)}, x, out, stack);
      }
    }
  }

  // Returns the first column of slice i: a multiple of 32 columns, two cache lines.
  static uint32_t column(uint32_t n, uint32_t i, uint32_t slices) noexcept {
    return i == slices ? n : static_cast<uint32_t>(uint64_t{n} * i / slices) / 32 * 32;
  }

  // Returns a row of `of`, x or the held bundle, from the group that has it.
  const float* row_of(ExecutionContext& context, const Bundle& of, uint32_t row) const noexcept {
    uint32_t owner = group_;
    if (plan_.dealt && plan_.rows == RowSet::kOutputs) {
      const std::vector<PlanGroup>& groups = context.graph().plan.groups;
      uint32_t rows = context.step().rows();
      owner = 0;
      uint32_t end = groups[0].size();  // the place behind the owner's last worker
      while (row >= deal_rows(rows, end - 1, plan_.workers).end) end += groups[++owner].size();
    }
    ValueId x = of.values[owner];
    return context.f32(x) + row * context.f32_stride(x);
  }

  void sum_columns(ExecutionContext& context, uint32_t row, const RowRange& columns, const float* x,
                   float* out, float* stack) const noexcept {
    uint32_t begin = columns.begin, count = columns.end - columns.begin;
    const float* operands[kMaxDepth];
    uint32_t depth = 0;
    for (int32_t step : plan_.program) {
      if (step != kAdd) {
        ValueId partial = plan_.partials[static_cast<size_t>(step)];
        operands[depth++] = context.f32(partial) + row * context.f32_stride(partial) + begin;
        continue;
      }
      --depth;
      float* sum = stack + size_t{depth - 1} * count;
      context.kernels().add_vectors({operands[depth - 1], operands[depth], nullptr, count, sum});
      operands[depth - 1] = sum;
    }
    const float* bias = plan_.bias ? plan_.bias->copies[shard()] + begin : nullptr;
    if (x != nullptr) {
      context.kernels().add_vectors({x + begin, operands[0], bias, count, out + begin});
    } else if (bias != nullptr) {
      context.kernels().add_vectors({operands[0], bias, nullptr, count, out + begin});
    } else {
      std::copy_n(operands[0], count, out + begin);
    }
  }

  static void copy_row(ExecutionContext& context, const Norm& norm, uint32_t row) noexcept {
    for (ValueId copy : norm.copies) {
      for (size_t f = 0; f < kActFormats; ++f) {
        auto format = static_cast<ActFormat>(f);
        if (!context.wants(copy, format)) continue;
        copy_act_row(format, context.view(norm.target.out, format), row,
                     context.buffer(copy, format), row);
      }
    }
  }

  // Writes a hidden state that the step wants. If all groups have the row, group 0 writes it.
  void give_hidden(ExecutionContext& context, const float* normed, uint32_t row) const noexcept {
    const StepView& step = context.step();
    const uint32_t first = step.logit_rows + step.later_rows;
    if (row < first || (!plan_.dealt && group_ != 0)) return;
    size_t n = plan_.width;
    std::copy_n(normed, n, step.hidden + (row - first) * n);
  }

  ReducePlan plan_;
  uint32_t group_;
  std::vector<Norm> norms_;  // `next`, and then `second`
  std::optional<ValueId> next_, held_;
};

}  // namespace

bool deals_rows(const Plan& plan) {
  return plan.phase == Phase::kPrefill && plan.group_count() > 1;
}

Reduced reduce_add_norm(GraphBuilder& builder, const std::string& name, const Bundle& x,
                        const Partials& partials, const Join& join, RowSet rows,
                        const Bundle& held) {
  const uint32_t width = partials.width;
  HEARTH_CHECK(!join.holds || rows == RowSet::kTokens, "something follows what is held");
  HEARTH_CHECK(!join.second || join.holds, "two norms are made of a row that they leave as it is");
  PartialSum sum = sum_of_parts(partials);
  uint32_t columns = stack_columns(width, stack_depth(sum.program));
  ReducePlan plan{
      x,    held, std::move(sum.values),      std::move(sum.program),        partials.bias,
      join, rows, deals_rows(builder.plan()), builder.plan().worker_count(), columns,
      width};
  auto add = [&] { return builder.add_values(rows, same_width(builder, width)); };
  Reduced out;
  if (join.holds) {
    out.x = x;
    out.held = add();
    builder.writes(out.held);
  } else if (rows == RowSet::kTokens) {
    out.x = add();
    builder.writes(out.x);
  }
  out.normed = add();
  builder.writes(out.normed);
  if (join.second) {
    out.second = add();
    builder.writes(out.second);
  }
  // A group reads another group's x only if it picks output rows and rows are dealt.
  const Reads whose = !plan.dealt || rows == RowSet::kTokens ? Reads::kOwn : Reads::kAsMode;
  builder.reads(x, ActFormat::kF32, whose);
  if (!held.values.empty()) builder.reads(held, ActFormat::kF32, whose);
  builder.reads(partials.tree.bundle, ActFormat::kF32);
  if (partials.last) builder.reads(partials.last->bundle, ActFormat::kF32);
  builder.append(Mode::kReduce, name, op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<ReduceOp>(plan, g, first_shard(builder, g), out);
                 }));
  if (plan.dealt) builder.meet_after();
  return out;
}

}  // namespace hearth
