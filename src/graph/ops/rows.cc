#include "graph/ops/rows.h"

#include <algorithm>

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

class EmbedOp : public Op {
 public:
  // `shard` names the copy of a type's row to read.
  EmbedOp(const EmbeddingTables& tables, uint32_t shard, ValueId out)
      : tables_(tables), shard_(shard), out_(out) {}

  // Every group reads the rows of all tokens, wherever in the vocabulary they are. A row lies
  // across its panel (tensor/pack_spec.h), so all lines of the panel are fetched. Positions of an
  // item are neighbours, and items share them.
  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    add_rows(*tables_.token, step.rows, step.rows, step, &load);
    if (tables_.position == nullptr || step.rows == 0) return load;
    uint32_t begin = ~0u, end = 0;
    for (const StepItem& item : step.items) {
      begin = std::min(begin, item.first_position);
      end = std::max(end, item.first_position + item.rows);
    }
    const uint32_t panels = (end - 1) / kPanelRows + 1 - begin / kPanelRows;
    add_rows(*tables_.position, end - begin, panels, step, &load);
    return load;
  }

  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    const StepView& step = context.step();
    auto* scratch = reinterpret_cast<float*>(worker.scratch);
    RowRange range = rows_of(worker, step.rows());
    for (uint32_t r = range.begin; r < range.end; ++r) {
      float* row = context.f32(out_) + r * context.f32_stride(out_);
      embed_row(tables_, step, r, shard_, context.kernels(), row, scratch);
    }
  }

 private:
  // Adds the load of reading `rows` rows of a table that lie in `panels` of its panels.
  static void add_rows(const Weight& table, uint64_t rows, uint64_t panels, const StepSizes& step,
                       OpLoad* load) {
    const PackSpec row = pack_spec_for(table.type, 1, table.k);
    const uint64_t panel = row.codes_panel_bytes() + row.scales_panel_bytes();
    for (uint32_t s = 0; s < table.shards.size(); ++s) {
      load->of_shard(s).table += panels * panel * table.shards[s].spec.rows / table.rows;
    }
    // The source's rows count once for all groups.
    load->source_bytes += static_cast<double>(rows * table.type.source_row_bytes(table.k)) /
                          step.graph.plan.group_count();
  }

  EmbeddingTables tables_;
  uint32_t shard_;
  ValueId out_;
};

class RopeAnglesOp : public Op {
 public:
  RopeAnglesOp(const RopeTable& table, ValueId out) : table_(table), out_(out) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
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

class NormOp : public Op {
 public:
  NormOp(ValueId x, const NormTarget& target) : x_(x), target_(target) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.step().rows());
    auto* scratch = reinterpret_cast<float*>(worker.scratch);
    for (uint32_t r = range.begin; r < range.end; ++r) {
      target_.write(context, context.f32(x_) + r * context.f32_stride(x_), r, scratch);
    }
  }

 private:
  ValueId x_;
  NormTarget target_;
};

struct LogitsTask {
  uint32_t shard;
  PanelRange panels;
  GemmSchedule schedule;

  bool join(const LogitsTask& next) { return shard == next.shard && panels.join(next.panels); }
};

class LogitsOp : public GemmOp<LogitsTask> {
 public:
  LogitsOp(ValueId x, const Weight& head, float cap, const std::vector<RowSlice>& slices,
           const Cutting& cutting)
      : GemmOp(x, slices.size(), cutting, row_products({&head}, {slices}, cutting)),
        head_(head),
        cap_(cap) {
    for (size_t local_shard = 0; local_shard < slices.size(); ++local_shard) {
      const RowSlice& slice = slices[local_shard];
      HEARTH_CHECK(slice.lead == 0, "vocabulary units are whole panels");
      work_.add(head, slice);
      const Shard& shard = head.shards[slice.shard];
      const uint32_t default_panels =
          task_panels(shard.spec, slice.panels, cutting.threads, cutting.max_rows);
      for (TaskList<LogitsTask>& list : lists_) {
        const GemmSchedule s = cutting.schedules.at(products_[local_shard], list.max_rows);
        const uint32_t step = s.is_default() ? default_panels : s.task_panels;
        for (PanelRange r : panel_ranges(slice.panel0, slice.panels, step)) {
          list.tasks[local_shard].push_back({slice.shard, r, s});
        }
      }
    }
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    work_.add_to(step.logit_rows, step.units, &load);
    load.each_bytes = static_cast<double>(head_.k) * step.logit_rows * input_bytes({&head_});
    return load;
  }

 private:
  bool of_outputs() const override { return true; }
  // Every task takes all output rows, so task_rows() counts them as one row.
  uint32_t step_rows(const ExecutionContext& context) const noexcept override {
    return context.step().logit_rows;
  }
  uint32_t task_rows(const ExecutionContext& context) const noexcept override {
    return std::min(context.step().logit_rows, 1u);
  }
  void run_task(ExecutionContext& context, const LogitsTask& task, uint32_t, uint32_t,
                const Worker& worker) const noexcept override {
    const StepView& step = context.step();
    const ShardLogits& part = step.logits[task.shard];
    const Shard& shard = head_.shards[task.shard];
    auto [panel0, panels] = task.panels;
    size_t column = size_t{panel0} * kPanelRows;
    gemm_for(context, head_)({weight_view(shard.spec, shard.codes, shard.scales),
                              panel0,
                              panels,
                              0,
                              shard.spec.blocks(),
                              act_rows(context.view(x_, format_for(head_)), step.first_logit, 0),
                              step.logit_rows,
                              part.logits + column,
                              part.columns(),
                              worker.scratch,
                              {},
                              task.schedule});
    for (uint32_t r = 0; r < step.logit_rows; ++r) {
      if (cap_ > 0) {
        float* row = part.row(r) + column;
        context.kernels().soft_cap({row, panels * kPanelRows, cap_, row});
      }
      if (step.sampled[r] == 0) continue;
      context.kernels().panel_maxima({part.row(r) + column, panels, part.row_maxima(r) + panel0});
    }
  }

  const Weight& head_;
  float cap_;
};

}  // namespace

void embed_row(const EmbeddingTables& tables, const StepView& step, uint32_t r, uint32_t shard,
               const Kernels& kernels, float* row, float* scratch) noexcept {
  const uint32_t width = tables.token->k;
  weight_row(*tables.token, static_cast<uint32_t>(step.tokens[r]), row);
  if (tables.scale != 1) {
    for (uint32_t i = 0; i < width; ++i) row[i] *= tables.scale;
  }
  if (tables.position != nullptr) {
    weight_row(*tables.position, step.positions[r], scratch);
    kernels.add_vectors({row, scratch, nullptr, width, row});
  }
  const VectorWeight* type = step.is_second(r) ? tables.second_type : tables.type;
  if (type != nullptr) kernels.add_vectors({row, type->copies[shard], nullptr, width, row});
}

Bundle embed(GraphBuilder& builder, const EmbeddingTables& tables) {
  const uint32_t width = tables.token->k;
  HEARTH_CHECK(tables.position == nullptr || tables.position->k == width, "rows are as wide");
  for (const VectorWeight* type : {tables.type, tables.second_type}) {
    HEARTH_CHECK(type == nullptr || type->size == width, "rows are as wide");
  }
  HEARTH_CHECK(width * sizeof(float) <= kOpScratchBytes, "scratch holds a row");
  Bundle out = builder.add_values(RowSet::kTokens, same_width(builder, width));
  builder.writes(out);
  builder.append(Mode::kParallel, "embed", op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<EmbedOp>(tables, first_shard(builder, g), out.values[g]);
                 }));
  return out;
}

Bundle rope_angles(GraphBuilder& builder, const RopeTable& table) {
  auto width = static_cast<uint32_t>(2 * table.inverse_frequency.size());
  Bundle out = builder.add_values(RowSet::kTokens, same_width(builder, width));
  builder.writes(out);
  builder.append(Mode::kParallel, "rope_angles", op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<RopeAnglesOp>(table, out.values[g]);
                 }));
  return out;
}

namespace {

Bundle normed(GraphBuilder& builder, std::string name, const Bundle& x, const NormWeight& by,
              uint32_t width) {
  Bundle out = builder.add_values(RowSet::kTokens, same_width(builder, width));
  builder.reads(x, ActFormat::kF32);
  builder.writes(out);
  builder.append(Mode::kParallel, std::move(name), op_per_group(builder, [&](uint32_t g) {
                   NormTarget target{by, first_shard(builder, g), out.values[g], width};
                   return std::make_unique<NormOp>(x.values[g], target);
                 }));
  return out;
}

}  // namespace

Bundle norm(GraphBuilder& builder, std::string name, const Bundle& x, const NormWeight& by) {
  return normed(builder, std::move(name), x, by, by.weight->size);
}

Bundle copied(GraphBuilder& builder, std::string name, const Bundle& x, uint32_t width) {
  return normed(builder, std::move(name), x, {}, width);
}

void logits(GraphBuilder& builder, const Bundle& x, const Weight& head, float cap) {
  builder.reads(x, format_for(head));
  builder.append(Mode::kParallel, "logits", op_per_group(builder, [&](uint32_t g) {
                   uint32_t width = 0;
                   return std::make_unique<LogitsOp>(
                       x.values[g], head, cap,
                       row_slices(head, builder.plan().groups[g].share, &width),
                       cutting_of(builder, g));
                 }));
}

}  // namespace hearth
