#include <algorithm>

#include "base/check.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/linear.h"

namespace hearth {
namespace {

struct GatedTask {
  uint32_t shard;
  PanelRange panels;
  uint32_t column, count;

  bool join(const GatedTask& next) {
    if (shard != next.shard || !panels.join(next.panels)) return false;
    count += next.count;
    return true;
  }
};

// One group's part of the FFN axis: panel ranges of gate and up into tiles, their product quantised
// into the columns that `down` reads. A task's rows are whole blocks of those columns.
class GatedLinearOp : public GemmOp<GatedTask> {
 public:
  GatedLinearOp(ValueId x, ValueId out, const Weight& gate, const Weight& up,
                const std::vector<RowSlice>& rows, const std::vector<ColumnSlice>& columns,
                uint32_t threads, uint32_t max_rows)
      : GemmOp(x, rows.size(), threads), out_(out), gate_(gate), up_(up) {
    for (size_t local_shard = 0; local_shard < rows.size(); ++local_shard) {
      const RowSlice& slice = rows[local_shard];
      work_.add(gate, slice);
      work_.add(up, slice);
      elements_ += slice.rows;
      HEARTH_CHECK(slice.lead == 0, "FFN units are whole panels");
      const PackSpec& spec = gate.shards[slice.shard].spec;
      const uint32_t step = task_panels(spec, slice.panels, threads, max_rows);
      for (PanelRange r : panel_ranges(slice.panel0, slice.panels, step)) {
        uint32_t first = (r.panel0 - slice.panel0) * kPanelRows;
        uint32_t count = std::min(r.panels * kPanelRows, slice.rows - first);
        tasks_[local_shard].push_back({slice.shard, r, columns[local_shard].column + first, count});
      }
    }
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    work_.add_to(step.rows, step.units, &load);
    load.each_bytes = static_cast<double>(gate_.k) * step.rows * input_bytes({&gate_, &up_});
    load.shared_bytes =
        static_cast<double>(elements_) * step.rows * written_bytes(step.graph, out_);
    return load;
  }

 private:
  void run_task(ExecutionContext& context, const GatedTask& task, uint32_t row,
                const Worker& worker) const noexcept override {
    uint32_t m = std::min(kTaskRows, context.rows(x_) - row);
    size_t columns = size_t{task.panels.panels} * kPanelRows;
    auto* gate = reinterpret_cast<float*>(worker.scratch);
    float* up = gate + m * columns;
    for (auto [weight, out] : {std::pair{&gate_, gate}, std::pair{&up_, up}}) {
      const Shard& shard = weight->shards[task.shard];
      gemm_for(context, *weight)({weight_view(shard.spec, shard.codes, shard.scales),
                                  task.panels.panel0, task.panels.panels, 0, shard.spec.blocks(),
                                  act_rows(context.view(x_, format_for(*weight)), row, 0), m, out,
                                  columns, worker.scratch + kOpTileBytes});
    }
    context.kernels().silu_mul({gate, up, static_cast<uint32_t>(m * columns), gate});
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      for (uint32_t r = 0; r < m; ++r) {
        context.kernels().quantize[f](
            {gate + r * columns, task.column, task.count, context.buffer(out_, format), row + r});
      }
    }
  }

  ValueId out_;
  const Weight& gate_;
  const Weight& up_;
  uint32_t elements_ = 0;  // of the group's columns
};

}  // namespace

Bundle gated_linear(GraphBuilder& builder, std::string name, const Bundle& x, const Weight& gate,
                    const Weight& up, const Weight& down) {
  HEARTH_CHECK(gate.cuts == down.cuts && up.cuts == down.cuts && gate.unit == down.unit,
               "gate, up and down share an axis");
  Bundle out = column_values(builder, down);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    uint32_t width = 0;
    ops.push_back(std::make_unique<GatedLinearOp>(
        x.values[g], out.values[g], gate, up, row_slices(gate, group.share, &width),
        column_slices(*down.cuts, down.unit, down.k, group.share), threads_per_shard(group),
        builder.plan().max_rows));
  }
  builder.reads(x, format_for(gate));
  builder.reads(x, format_for(up));
  builder.writes(out);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

}  // namespace hearth
