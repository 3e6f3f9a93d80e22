#include "graph/ops/linear.h"

#include <algorithm>

#include "base/check.h"
#include "graph/ops/gather.h"
#include "graph/ops/gemm_tasks.h"

namespace hearth {
namespace {

struct LinearTask {
  uint32_t part, shard;
  PanelRange panels;
  uint32_t column;
  GemmSchedule schedule;

  bool join(const LinearTask& next) {
    return part == next.part && shard == next.shard && panels.join(next.panels);
  }
};

// Computes one group's rows of several weights. Each local shard has one counter. Tasks are panel
// ranges of all parts times row ranges.
class LinearOp : public GemmOp<LinearTask> {
 public:
  LinearOp(ValueId x, ValueId out, const std::vector<LinearMatrix>& parts,
           const std::vector<std::vector<RowSlice>>& slices, const Cutting& cutting)
      : GemmOp(x, slices[0].size(), cutting, row_products(weights_of(parts), slices, cutting)),
        out_(out),
        parts_(parts) {
    for (uint32_t p = 0; p < parts.size(); ++p) {
      for (const RowSlice& slice : slices[p]) {
        work_.add(*parts[p].weight, slice);
        outputs_ += slice.rows;
      }
    }
    for (TaskList<LinearTask>& list : lists_) {
      size_t product = 0;
      for (uint32_t local_shard = 0; local_shard < list.tasks.size(); ++local_shard) {
        for (uint32_t p = 0; p < parts.size(); ++p) {
          add_tasks(list, local_shard, p, slices[p][local_shard], products_[product++], cutting);
        }
      }
    }
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    work_.add_to(step.rows, step.units, &load);
    const std::vector<const Weight*> weights = weights_of(parts_);
    load.each_bytes = static_cast<double>(weights[0]->k) * step.rows * input_bytes(weights);
    load.shared_bytes = static_cast<double>(outputs_) * step.rows * sizeof(float);
    return load;
  }

 private:
  void add_tasks(TaskList<LinearTask>& list, uint32_t local_shard, uint32_t part,
                 const RowSlice& slice, const ProductShape& product, const Cutting& cutting) {
    const PackSpec& spec = parts_[part].weight->shards[slice.shard].spec;
    const GemmSchedule s = cutting.schedules.at(product, list.max_rows);
    list.limit_rows(s);
    const uint32_t default_panels =
        task_panels(spec, product.outputs / kPanelRows, cutting.threads, cutting.max_rows);
    const uint32_t step = s.is_default() ? default_panels : s.task_panels;
    for (PanelRange r : panel_ranges(slice.panel0, slice.panels, step)) {
      uint32_t column = slice.column + (r.panel0 - slice.panel0) * kPanelRows;
      list.tasks[local_shard].push_back({part, slice.shard, r, column, s});
    }
  }

  void run_task(ExecutionContext& context, const LinearTask& task, uint32_t row, uint32_t m,
                const Worker& worker) const noexcept override {
    const Weight& weight = *parts_[task.part].weight;
    const Shard& shard = weight.shards[task.shard];
    size_t stride = context.f32_stride(out_);
    float* out = context.f32(out_) + row * stride + task.column;
    gemm_for(context, weight)({weight_view(shard.spec, shard.codes, shard.scales),
                               task.panels.panel0,
                               task.panels.panels,
                               0,
                               shard.spec.blocks(),
                               act_rows(context.view(x_, format_for(weight)), row, 0),
                               m,
                               out,
                               stride,
                               worker.scratch,
                               {},
                               task.schedule});
    if (const VectorWeight* bias = parts_[task.part].bias) {
      add_bias(context.kernels(), bias_of(*bias, weight, task.shard, task.panels), m, out, stride);
    }
  }

  ValueId out_;
  std::vector<LinearMatrix> parts_;
  uint32_t outputs_ = 0;  // of the group's rows of all weights
};

struct PartialTask {
  uint32_t part;
  PanelRange panels;
  GemmSchedule schedule;

  bool join(const PartialTask& next) { return part == next.part && panels.join(next.panels); }
};

// Returns the products of a group's columns, by local shard.
std::vector<ProductShape> partial_products(const Weight& weight,
                                           const std::vector<ColumnSlice>& columns,
                                           const Cutting& cutting) {
  std::vector<ProductShape> shapes;
  for (const ColumnSlice& slice : columns) {
    const PackSpec& spec = weight.shards[slice.shard].spec;
    const uint32_t k = (slice.elements + kBlock - 1) / kBlock * kBlock;
    shapes.push_back(cutting.product(spec, spec.panels(), k));
  }
  return shapes;
}

// Returns the number of parts that K is dealt into. It is the same for all steps of a graph, since
// each part has a separate value in the graph.
uint32_t parts_of(const Weight& weight, const ColumnSlice& columns, const Cutting& cutting) {
  const ProductShape product = partial_products(weight, {columns}, cutting)[0];
  return cutting.schedules.at(product, cutting.max_rows).k_parts;
}

// Multiplies one group's pieces of a column-cut weight.
class PartialLinearOp : public GemmOp<PartialTask> {
 public:
  struct Output {
    Piece piece;
    uint32_t whole_segments;  // of the piece before it was split
    ValueId value;
  };

  PartialLinearOp(ValueId x, const Weight& weight, const std::vector<ColumnSlice>& columns,
                  const std::vector<Output>& outputs, const Cutting& cutting)
      : GemmOp(x, columns.size(), cutting, partial_products(weight, columns, cutting)),
        weight_(weight) {
    for (const ColumnSlice& slice : columns) elements_ += slice.elements;
    for (const Output& output : outputs) {
      work_.add(weight, output.piece);
      max_segments_ = std::max(max_segments_, output.whole_segments);
      uint32_t local_shard = output.piece.shard - columns[0].shard;
      const Shard& shard = weight.shards[output.piece.shard];
      // The number that the shard's block 0 would have among the input's blocks. The input starts
      // at the group's first element.
      auto first_block =
          static_cast<ptrdiff_t>(columns[local_shard].column / kBlock) -
          static_cast<ptrdiff_t>((columns[local_shard].element - shard.spec.k_origin) / kBlock);
      static_assert(kSegments <= kMaxCuts + 1);
      const UnitRange segments = output.piece.segments;
      const UnitRange blocks = {segment_blocks(weight, output.piece.shard, segments.begin).begin,
                                segment_blocks(weight, output.piece.shard, segments.end - 1).end};
      Part part{output.piece.shard, output.value, first_block, blocks, {}};
      for (uint32_t s = segments.begin + 1; s < segments.end; ++s) {
        part.cuts.push_back(segment_blocks(weight, part.shard, s).begin);
      }
      add_tasks(shard.spec, local_shard, products_[local_shard], cutting);
      parts_.push_back(std::move(part));
    }
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    work_.add_to(step.rows, step.units, &load);
    // A thread multiplies with the columns of its own shard only.
    load.each_bytes = static_cast<double>(elements_) * step.rows * input_bytes({&weight_}) /
                      static_cast<double>(lists_[0].tasks.size());
    load.shared_bytes =
        static_cast<double>(parts_.size()) * weight_.rows * step.rows * sizeof(float);
    return load;
  }

 private:
  // A piece's sums.
  struct Part {
    uint32_t shard;
    ValueId value;
    ptrdiff_t x_block;  // where the shard's block 0 would stand in the input
    UnitRange blocks;
    std::vector<uint32_t> cuts;  // where segments meet among `blocks`
  };

  uint32_t segments() const override { return max_segments_; }
  // Adds the tasks of the part that the caller appends to parts_ next.
  void add_tasks(const PackSpec& spec, uint32_t local_shard, const ProductShape& product,
                 const Cutting& cutting) {
    const uint32_t default_panels = column_task_panels(spec, cutting.threads, cutting.max_rows);
    for (TaskList<PartialTask>& list : lists_) {
      const GemmSchedule s = cutting.schedules.at(product, list.max_rows);
      list.limit_rows(s);
      const uint32_t step = s.is_default() ? default_panels : s.task_panels;
      for (PanelRange r : panel_ranges(0, spec.panels(), step)) {
        list.tasks[local_shard].push_back({static_cast<uint32_t>(parts_.size()), r, s});
      }
    }
  }

  void run_task(ExecutionContext& context, const PartialTask& task, uint32_t row, uint32_t m,
                const Worker& worker) const noexcept override {
    const Part& part = parts_[task.part];
    const Shard& shard = weight_.shards[part.shard];
    size_t stride = context.f32_stride(part.value);
    // The kernel numbers blocks from the shard's first; the input holds the group's part only.
    gemm_for(context, weight_)(
        {.w = weight_view(shard.spec, shard.codes, shard.scales),
         .panel0 = task.panels.panel0,
         .panels = task.panels.panels,
         .block0 = part.blocks.begin,
         .block1 = part.blocks.end,
         .a = act_rows(context.view(x_, format_for(weight_)), row, part.x_block),
         .m = m,
         .out = context.f32(part.value) + row * stride + size_t{task.panels.panel0} * kPanelRows,
         .out_stride = stride,
         .scratch = worker.scratch,
         .cuts = part.cuts,
         .schedule = task.schedule});
  }

  const Weight& weight_;
  std::vector<Part> parts_;
  uint32_t elements_ = 0;      // of the group's columns
  uint32_t max_segments_ = 1;  // of a piece
};

}  // namespace

Bundle shared_input(GraphBuilder& builder, const std::string& name, const Bundle& x,
                    const std::vector<LinearMatrix>& parts) {
  for (const LinearMatrix& part : parts) {
    HEARTH_CHECK(same_order(part.weight->order, parts[0].weight->order),
                 "weights that read one input have one order of columns");
  }
  return in_column_order(builder, name + "_order", x, *parts[0].weight);
}

LinearOut linear(GraphBuilder& builder, std::string name, const Bundle& input,
                 const std::vector<LinearMatrix>& parts) {
  const Bundle x = shared_input(builder, name, input, parts);
  LinearOut out;
  std::vector<uint32_t> widths(builder.group_count(), 0);
  for (const LinearMatrix& part : parts) {
    std::vector<std::vector<RowSlice>>& slices = out.slices.emplace_back();
    for (uint32_t g = 0; g < builder.group_count(); ++g) {
      slices.push_back(row_slices(*part.weight, builder.plan().groups[g].share, &widths[g]));
    }
    builder.reads(x, format_for(*part.weight));
  }
  out.bundle = builder.add_values(RowSet::kTokens, widths);
  builder.writes(out.bundle);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    std::vector<std::vector<RowSlice>> slices;
    for (const auto& part : out.slices) slices.push_back(part[g]);
    ops.push_back(std::make_unique<LinearOp>(x.values[g], out.bundle.values[g], parts, slices,
                                             cutting_of(builder, g)));
  }
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

Bundle column_values(GraphBuilder& builder, const Weight& weight) {
  std::vector<uint32_t> widths;
  for (const PlanGroup& group : builder.plan().groups) {
    widths.push_back(column_width(column_slices(*weight.cuts, weight.unit, weight.k, group.share)));
  }
  return builder.add_values(RowSet::kTokens, widths);
}

PartialSum sum_of_parts(const Partials& partials) {
  PartialSum sum{partials.tree.bundle.values,
                 sum_program(partials.tree.pieces, partials.tree.cuts)};
  if (!partials.last) return sum;
  const auto first = static_cast<int32_t>(sum.values.size());
  for (int32_t step : sum_program(partials.last->pieces, partials.last->cuts)) {
    sum.program.push_back(step == kAdd ? kAdd : first + step);
  }
  sum.program.push_back(kAdd);
  const std::vector<ValueId>& last = partials.last->bundle.values;
  sum.values.insert(sum.values.end(), last.begin(), last.end());
  return sum;
}

Partials partial_linear(GraphBuilder& builder, std::string name, const Bundle& input,
                        const Weight& weight) {
  HEARTH_CHECK(weight.cut == CutBy::kColumns, "partial sums come of column cuts");
  const Bundle x = in_column_order(builder, name + "_order", input, weight);
  Partials partials{{{}, {}, *weight.cuts}, weight.rows};
  std::vector<std::unique_ptr<Op>> ops;
  uint32_t width = (weight.rows + kPanelRows - 1) / kPanelRows * kPanelRows;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const GroupShare& share = builder.plan().groups[g].share;
    const Cutting cutting = cutting_of(builder, g);
    const std::vector<ColumnSlice> columns =
        column_slices(*weight.cuts, weight.unit, weight.k, share);
    std::vector<PartialLinearOp::Output> outputs;
    for (const Piece& whole : pieces_of(*weight.cuts, share)) {
      const ColumnSlice& slice = columns[whole.shard - columns[0].shard];
      for (const Piece& piece : split_piece(whole, parts_of(weight, slice, cutting))) {
        ValueId value = builder.add_value(RowSet::kTokens, width, g);
        partials.tree.pieces.push_back(piece);
        partials.tree.bundle.values.push_back(value);
        outputs.push_back({piece, whole.segments.size(), value});
      }
    }
    ops.push_back(
        std::make_unique<PartialLinearOp>(x.values[g], weight, columns, outputs, cutting));
  }
  builder.reads(x, format_for(weight));
  builder.writes(partials.tree.bundle);
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return partials;
}

}  // namespace hearth
