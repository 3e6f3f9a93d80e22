#include <algorithm>
#include <optional>

#include "base/check.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/linear.h"

namespace hearth {
namespace {

struct ActivatedTask {
  uint32_t shard;
  PanelRange panels;
  uint32_t column, count;
  GemmSchedule schedule;  // for the gate, or the only weight
  GemmSchedule second;    // for up

  bool join(const ActivatedTask& next) {
    if (shard != next.shard || !panels.join(next.panels)) return false;
    count += next.count;
    return true;
  }
};

// Factors by which a single weight's activated results are multiplied: columns of a value.
struct Times {
  ValueId value;
  uint32_t first;  // the column for the weight's row 0
};

// Computes one group's part of the FFN axis. A task multiplies panels of one weight, or of gate and
// up, into tiles, applies the activation, and quantises the result into the columns that `down`
// reads; its panels are whole blocks of those columns.
class ActivatedLinearOp : public GemmOp<ActivatedTask> {
 public:
  // `parts`: gate and up, or one weight.
  ActivatedLinearOp(ValueId x, ValueId out, const std::vector<LinearMatrix>& parts,
                    Activation activation, const std::optional<Times>& times,
                    const std::vector<RowSlice>& rows, const std::vector<ColumnSlice>& columns,
                    const Cutting& cutting)
      : GemmOp(x, rows.size(), cutting,
               row_products(weights_of(parts), std::vector(parts.size(), rows), cutting)),
        out_(out),
        parts_(parts),
        activation_(activation),
        times_(times) {
    for (size_t local_shard = 0; local_shard < rows.size(); ++local_shard) {
      const RowSlice& slice = rows[local_shard];
      for (const LinearMatrix& part : parts_) work_.add(*part.weight, slice);
      elements_ += slice.rows;
      HEARTH_CHECK(slice.lead == 0, "FFN units are whole panels");
      const ProductShape* own = products_.data() + local_shard * parts.size();
      for (TaskList<ActivatedTask>& list : lists_) {
        add_tasks(&list, local_shard, slice, columns[local_shard].column, own, cutting);
      }
    }
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    work_.add_to(step.rows, step.units, &load);
    const std::vector<const Weight*> weights = weights_of(parts_);
    load.each_bytes = static_cast<double>(weights[0]->k) * step.rows * input_bytes(weights);
    load.shared_bytes =
        static_cast<double>(elements_) * step.rows * written_bytes(step.graph, out_);
    return load;
  }

 private:
  // Adds a slice's tasks. A task has the same panels of gate and of up, an even number of each. The
  // schedule's number of panels counts those of both.
  void add_tasks(TaskList<ActivatedTask>* list, size_t local_shard, const RowSlice& slice,
                 uint32_t column, const ProductShape* products, const Cutting& cutting) {
    const PackSpec& spec = parts_[0].weight->shards[slice.shard].spec;
    const GemmSchedule s = cutting.schedules.at(products[0], list->max_rows);
    const GemmSchedule second =
        parts_.size() == 2 ? cutting.schedules.at(products[1], list->max_rows) : s;
    list->limit_rows(s);
    uint32_t step = task_panels(spec, slice.panels, cutting.threads, cutting.max_rows);
    if (!s.is_default()) {
      step = std::max<uint32_t>(2, s.task_panels / static_cast<uint32_t>(parts_.size()) / 2 * 2);
    }
    for (PanelRange r : panel_ranges(slice.panel0, slice.panels, step)) {
      uint32_t first = (r.panel0 - slice.panel0) * kPanelRows;
      uint32_t count = std::min(r.panels * kPanelRows, slice.rows - first);
      list->tasks[local_shard].push_back({slice.shard, r, column + first, count, s, second});
    }
  }

  void run_task(ExecutionContext& context, const ActivatedTask& task, uint32_t row, uint32_t m,
                const Worker& worker) const noexcept override {
    const size_t columns = size_t{task.panels.panels} * kPanelRows;
    auto* tile = reinterpret_cast<float*>(worker.scratch);
    float* up = parts_.size() == 2 ? tile + m * columns : nullptr;
    multiply(context, task, 0, row, m, tile, worker);
    if (up != nullptr) {
      multiply(context, task, 1, row, m, up, worker);
      if (const VectorWeight* bias = parts_[1].bias) {
        add_bias(context.kernels(), bias_of(*bias, *parts_[1].weight, task.shard, task.panels), m,
                 up, columns);
      }
    }
    if (times_) {
      activate_times(context, task, row, m, tile);
    } else {
      activate(context.kernels(), task, m, tile, up);
    }
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      for (uint32_t r = 0; r < m; ++r) {
        context.kernels().quantize[f](
            {tile + r * columns, task.column, task.count, context.buffer(out_, format), row + r});
      }
    }
  }

  void multiply(ExecutionContext& context, const ActivatedTask& task, size_t index, uint32_t row,
                uint32_t m, float* out, const Worker& worker) const noexcept {
    const LinearMatrix& part = parts_[index];
    const Shard& shard = part.weight->shards[task.shard];
    gemm_for(context, *part.weight)({weight_view(shard.spec, shard.codes, shard.scales),
                                     task.panels.panel0,
                                     task.panels.panels,
                                     0,
                                     shard.spec.blocks(),
                                     act_rows(context.view(x_, format_for(*part.weight)), row, 0),
                                     m,
                                     out,
                                     size_t{task.panels.panels} * kPanelRows,
                                     worker.scratch + kOpTileBytes,
                                     {},
                                     index == 0 ? task.schedule : task.second});
  }

  // Activates the first weight's tile [m][columns of the panels] in place, and multiplies it by the
  // second weight's tile.
  void activate(const Kernels& kernels, const ActivatedTask& task, uint32_t m, float* tile,
                const float* up) const noexcept {
    const uint32_t columns = task.panels.panels * kPanelRows;
    std::span<const float> bias;
    if (parts_[0].bias != nullptr) {
      bias = bias_of(*parts_[0].bias, *parts_[0].weight, task.shard, task.panels);
    }
    const auto gelu = activation_ == Activation::kGelu ? kernels.gelu : kernels.gelu_tanh;
    if (const auto swiglu = swiglu_of(kernels, activation_)) {
      add_bias(kernels, bias, m, tile, columns);
      swiglu({tile, up, m * columns, tile});
    } else if (bias.empty()) {
      gelu({tile, nullptr, up, m * columns, tile});
    } else {
      for (uint32_t r = 0; r < m; ++r) {
        float* x = tile + size_t{r} * columns;
        const float* times = up == nullptr ? nullptr : up + size_t{r} * columns;
        gelu({x, bias.data(), times, static_cast<uint32_t>(bias.size()), x});
      }
    }
  }

  // Activates the tile, which holds rows from `row` on, and multiplies it by the factors of
  // `times`.
  void activate_times(ExecutionContext& context, const ActivatedTask& task, uint32_t row,
                      uint32_t m, float* tile) const noexcept {
    const size_t columns = size_t{task.panels.panels} * kPanelRows;
    const uint32_t at =
        parts_[0].weight->shards[task.shard].row0 + task.panels.panel0 * kPanelRows + times_->first;
    for (uint32_t r = 0; r < m; ++r) {
      const float* by =
          context.f32(times_->value) + size_t{row + r} * context.f32_stride(times_->value) + at;
      float* x = tile + r * columns;
      context.kernels().gelu_tanh({x, nullptr, by, task.count, x});
    }
  }

  ValueId out_;
  std::vector<LinearMatrix> parts_;
  Activation activation_;
  std::optional<Times> times_;
  uint32_t elements_ = 0;  // of the group's columns
};

Bundle append_activated(GraphBuilder& builder, std::string name, const Bundle& input,
                        const std::vector<LinearMatrix>& parts, const Weight& down,
                        Activation activation, const std::vector<Times>& times = {}) {
  const Bundle x = shared_input(builder, name, input, parts);
  for (const LinearMatrix& part : parts) {
    HEARTH_CHECK(part.weight->cuts == down.cuts && part.weight->unit == down.unit,
                 "a feed-forward layer's weights share an axis");
    HEARTH_CHECK(part.bias == nullptr || part.bias->size == part.weight->rows, "a bias for a row");
    builder.reads(x, format_for(*part.weight));
  }
  Bundle out = column_values(builder, down);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    uint32_t width = 0;
    ops.push_back(std::make_unique<ActivatedLinearOp>(
        x.values[g], out.values[g], parts, activation,
        times.empty() ? std::nullopt : std::optional(times[g]),
        row_slices(*parts[0].weight, group.share, &width),
        column_slices(*down.cuts, down.unit, down.k, group.share), cutting_of(builder, g)));
  }
  builder.writes(out);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

}  // namespace

Bundle gated_linear(GraphBuilder& builder, std::string name, const Bundle& x,
                    const LinearMatrix& gate, const LinearMatrix& up, const Weight& down,
                    Activation activation) {
  return append_activated(builder, std::move(name), x, {gate, up}, down, activation);
}

Bundle gelu_times(GraphBuilder& builder, std::string name, const Bundle& x,
                  const LinearMatrix& gate, const Bundle& times, const std::vector<uint32_t>& first,
                  const Weight& down) {
  std::vector<Times> of_groups;
  for (size_t g = 0; g < first.size(); ++g) of_groups.push_back({times.values[g], first[g]});
  builder.reads(times, ActFormat::kF32);
  return append_activated(builder, std::move(name), x, {gate}, down, Activation::kGeluTanh,
                          of_groups);
}

Bundle gelu_linear(GraphBuilder& builder, std::string name, const Bundle& x, const LinearMatrix& up,
                   const Weight& down) {
  return append_activated(builder, std::move(name), x, {up}, down, Activation::kGelu);
}

}  // namespace hearth
