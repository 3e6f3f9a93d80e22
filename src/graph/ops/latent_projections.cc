#include <algorithm>
#include <cstring>

#include "graph/ops/gemm_tasks.h"
#include "graph/ops/latent_heads.h"
#include "tensor/head_panels.h"

namespace hearth {
namespace {

// A task: the rows of a weight for one head, or for a unit of heads, times rows of activations.
struct HeadTask {
  uint32_t local_shard;
  UnitRange heads;

  bool join(const HeadTask&) { return false; }
};

// Returns the products with each head's rows of a weight, by local shard. Every head is a task.
std::vector<ScheduledProduct> head_products(const Weight& weight, uint32_t length,
                                            const std::vector<LatentHeads>& heads,
                                            const Cutting& cutting) {
  const uint32_t panels = (length + kPanelRows - 1) / kPanelRows;
  std::vector<ScheduledProduct> products;
  for (const LatentHeads& of : heads) {
    products.push_back(cutting.side_by_side(weight.shards[of.shard].spec, panels, of.heads.size(),
                                            /*experts=*/0, panels));
  }
  return products;
}

// Multiplies m rows with a head's rows of the weight, into out[m][stride]. `tmp` holds m times
// max_columns(length) floats, for a head that does not begin and end with whole panels.
void multiply_head(const ExecutionContext& context, const Weight& weight,
                   const ScheduledProduct& product, uint32_t shard_index, uint32_t head,
                   uint32_t length, const ActView& a, uint32_t m, float* out, size_t stride,
                   float* tmp, std::byte* scratch) noexcept {
  const Shard& shard = weight.shards[shard_index];
  const HeadPanels panels(shard, {head, head + 1}, length);
  const bool whole = panels.columns() == length;
  float* to = whole ? out : tmp;
  const size_t to_stride = whole ? stride : panels.columns();
  gemm_for(context, weight)({weight_view(shard.spec, shard.codes, shard.scales),
                             panels.panel0,
                             panels.panels,
                             0,
                             shard.spec.blocks(),
                             a,
                             m,
                             to,
                             to_stride,
                             scratch,
                             {},
                             product.at(m)});
  if (whole) return;
  for (uint32_t r = 0; r < m; ++r) {
    std::copy_n(tmp + r * to_stride + panels.lead, length, out + r * stride);
  }
}

// Returns how many rows of a task fit into a worker's scratch, at `row_bytes` each.
uint32_t tile_rows(size_t row_bytes) {
  constexpr size_t kEnds = 4096;
  return static_cast<uint32_t>(
      std::clamp<size_t>((kOpTileBytes - kEnds) / row_bytes, 1, kTaskRows));
}

class HeadsOp : public GemmOp<HeadTask> {
 public:
  std::vector<ProductUse> products() const override {
    std::vector<ProductUse> uses;
    for (const std::vector<ScheduledProduct>* products : scheduled()) {
      for (const ScheduledProduct& one : *products) uses.push_back(one.use());
    }
    return uses;
  }

 protected:
  HeadsOp(ValueId x, ValueId out, const LatentShape& shape, std::vector<LatentHeads> heads,
          uint32_t unit_heads, uint32_t threads, size_t row_bytes)
      : GemmOp(x, heads.size(), threads),
        out_(out),
        shape_(shape),
        heads_(std::move(heads)),
        tile_rows_(tile_rows(row_bytes)) {
    for (uint32_t l = 0; l < heads_.size(); ++l) {
      const UnitRange all = heads_[l].heads;
      for (uint32_t h = all.begin; h < all.end; h += unit_heads) {
        lists_[0].tasks[l].push_back({l, {h, std::min(h + unit_heads, all.end)}});
      }
    }
  }

  // Returns the products of each of the op's weights, by local shard.
  virtual std::vector<const std::vector<ScheduledProduct>*> scheduled() const = 0;
  // Computes rows [row, row + m) of the task's heads; m is tile_rows_ at most.
  virtual void run_tile(ExecutionContext& context, const HeadTask& task, uint32_t row, uint32_t m,
                        const Worker& worker) const noexcept = 0;

  void run_task(ExecutionContext& context, const HeadTask& task, uint32_t row, uint32_t m,
                const Worker& worker) const noexcept override {
    const uint32_t end = row + m;
    for (; row < end; row += tile_rows_) {
      run_tile(context, task, row, std::min(tile_rows_, end - row), worker);
    }
  }

  ValueId out_;
  LatentShape shape_;
  std::vector<LatentHeads> heads_;
  uint32_t tile_rows_;
};

// Makes queries. A task computes one head's query, rotates q_rope and, for absorbed rows, computes
// q' = W_UK^T q_nope.
class LatentQueriesOp : public HeadsOp {
 public:
  LatentQueriesOp(ValueId x, ValueId angles, ValueId out, const LatentShape& shape,
                  const LatentMatrices& matrices, const std::vector<LatentHeads>& heads,
                  const GroupShare& share, const Cutting& cutting)
      : HeadsOp(x, out, shape, heads, 1, cutting.threads, tile_bytes(shape)),
        angles_(angles),
        query_(matrices.query),
        key_(matrices.key),
        query_products_(head_products(query_, shape.query_length(), heads, cutting)),
        key_products_(head_products(key_, shape.kv_lora_rank, heads, cutting)) {
    work_.add(query_, share);
    key_work_.add(key_, share);
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const uint32_t expanded = expanded_rows(step.items);
    work_.add_to(step.rows, step.units, &load);
    key_work_.add_to(step.rows - expanded, step.units, &load);
    load.each_bytes = static_cast<double>(query_.k) * step.rows * input_bytes({&query_});
    load.shared_bytes = static_cast<double>(head_count(heads_)) * sizeof(float) *
                        (1.0 * shape_.cached_length() * (step.rows - expanded) +
                         1.0 * shape_.query_length() * expanded);
    return load;
  }

 private:
  std::vector<const std::vector<ScheduledProduct>*> scheduled() const override {
    return {&query_products_, &key_products_};
  }
  // Returns the bytes of scratch for a row: the head's query, q_nope in the input format of W_UK,
  // and q'.
  static size_t tile_bytes(const LatentShape& shape) {
    return sizeof(float) * (max_columns(shape.query_length()) * size_t{2} + shape.nope_length +
                            2 * kBlock + max_columns(shape.kv_lora_rank));
  }

  void run_tile(ExecutionContext& context, const HeadTask& task, uint32_t row, uint32_t m,
                const Worker& worker) const noexcept override {
    const LatentHeads& heads = heads_[task.local_shard];
    const uint32_t head = task.heads.begin, length = shape_.query_length();
    const ActFormat format = format_for(key_);
    const size_t columns = max_columns(length);
    auto* query = reinterpret_cast<float*>(worker.scratch);
    float* tmp = query + m * columns;
    auto* base = reinterpret_cast<std::byte*>(
        tmp + m * std::max(columns, size_t{max_columns(shape_.kv_lora_rank)}));
    const ActBuffer nope = act_buffer(format, base, m, shape_.nope_length);
    std::byte* scratch = worker.scratch + kOpTileBytes;
    multiply_head(context, query_, query_products_[task.local_shard], heads.shard, head, length,
                  act_rows(context.view(x_, format_for(query_)), row, 0), m, query, columns, tmp,
                  scratch);
    const size_t stride = context.f32_stride(out_);
    float* out = context.f32(out_) + row * stride + heads.query_column +
                 size_t{head - heads.heads.begin} * query_stride(shape_);
    for (uint32_t r = 0; r < m; ++r) {
      const float* of_row = query + r * columns;
      const bool expanded = is_expanded(context.step(), row + r);
      if (expanded) {
        std::copy_n(of_row, shape_.nope_length, out + r * stride);
      } else {
        context.kernels().quantize[static_cast<size_t>(format)](
            {of_row, 0, shape_.nope_length, nope, r});
      }
      turn(context, of_row + shape_.nope_length, row + r,
           out + r * stride + (expanded ? shape_.nope_length : shape_.kv_lora_rank));
    }
    for_forms(context.step(), row, m, [&](bool expanded, uint32_t begin, uint32_t end) {
      if (expanded) return;
      multiply_head(context, key_, key_products_[task.local_shard], heads.shard, head,
                    shape_.kv_lora_rank, act_rows(act_view(nope), begin, 0), end - begin,
                    out + begin * stride, stride, tmp, scratch);
    });
  }

  void turn(ExecutionContext& context, const float* from, uint32_t row, float* to) const noexcept {
    const uint32_t n_rot = shape_.rope_length;
    const float* cos = context.f32(angles_) + row * context.f32_stride(angles_);
    std::copy_n(from, n_rot, to);
    context.kernels().rope({to, cos, cos + n_rot / 2, n_rot, shape_.rope});
  }

  ValueId angles_;
  const Weight &query_, &key_;
  std::vector<ScheduledProduct> query_products_, key_products_;
  WeightWork key_work_;  // of W_UK, which multiplies only absorbed rows
};

// Makes values of absorbed rows: o = W_UV (a c). A task takes a unit of heads, whose values are
// whole blocks of `output`'s input. Expanded rows already have their o.
class LatentValuesOp : public HeadsOp {
 public:
  LatentValuesOp(ValueId x, ValueId queries, ValueId out, const LatentShape& shape,
                 const Weight& value, const std::vector<LatentHeads>& heads,
                 const std::vector<ColumnSlice>& columns, const GroupShare& share,
                 const Cutting& cutting)
      : HeadsOp(x, out, shape, heads, value.unit / shape.value_length, cutting.threads,
                tile_bytes(shape, value)),
        queries_(queries),
        value_(value),
        value_products_(head_products(value, shape.value_length, heads, cutting)) {
    for (const ColumnSlice& slice : columns) columns_.push_back(slice.column);
    work_.add(value, share);
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const uint32_t expanded = expanded_rows(step.items), absorbed = step.rows - expanded;
    work_.add_to(absorbed, step.units, &load);
    load.shared_bytes =
        head_count(heads_) * (absorbed * mix_stride(shape_) * input_bytes({&value_}) +
                              shape_.value_length * (expanded * sizeof(float) +
                                                     step.rows * written_bytes(step.graph, out_)));
    return load;
  }

 private:
  std::vector<const std::vector<ScheduledProduct>*> scheduled() const override {
    return {&value_products_};
  }
  static size_t tile_stride(const Weight& value) {
    return (value.unit + kPanelRows - 1) / kPanelRows * kPanelRows;
  }
  static size_t tile_bytes(const LatentShape& shape, const Weight& value) {
    return sizeof(float) * (tile_stride(value) + max_columns(shape.value_length));
  }

  void run_tile(ExecutionContext& context, const HeadTask& task, uint32_t row, uint32_t m,
                const Worker& worker) const noexcept override {
    const LatentHeads& heads = heads_[task.local_shard];
    const uint32_t length = shape_.value_length, first = task.heads.begin - heads.heads.begin;
    const size_t stride = tile_stride(value_);
    auto* tile = reinterpret_cast<float*>(worker.scratch);
    const ActView mixes = context.view(x_, format_for(value_));
    for (uint32_t i = 0; i < task.heads.size(); ++i) {
      const uint32_t column = heads.mix_column + (first + i) * mix_stride(shape_);
      const float* made =
          context.f32(queries_) + heads.query_column + size_t{first + i} * query_stride(shape_);
      for_forms(context.step(), row, m, [&](bool expanded, uint32_t begin, uint32_t end) {
        float* to = tile + begin * stride + size_t{i} * length;
        if (!expanded) {
          multiply_head(context, value_, value_products_[task.local_shard], heads.shard,
                        task.heads.begin + i, length, act_rows(mixes, row + begin, column / kBlock),
                        end - begin, to, stride, tile + m * stride, worker.scratch + kOpTileBytes);
          return;
        }
        for (uint32_t r = begin; r < end; ++r, to += stride) {
          std::copy_n(made + size_t{row + r} * context.f32_stride(queries_), length, to);
        }
      });
    }
    for (size_t f = 0; f < kActFormats; ++f) {
      const auto format = static_cast<ActFormat>(f);
      if (!context.wants(out_, format)) continue;
      for (uint32_t r = 0; r < m; ++r) {
        context.kernels().quantize[f](
            {tile + r * stride, columns_[task.local_shard] + first * length,
             task.heads.size() * length, context.buffer(out_, format), size_t{row} + r});
      }
    }
  }

  ValueId queries_;
  const Weight& value_;
  std::vector<ScheduledProduct> value_products_;
  std::vector<uint32_t> columns_;  // by local shard
};

}  // namespace

Bundle latent_queries(GraphBuilder& builder, std::string name, const Bundle& x,
                      const Bundle& angles, const LatentShape& shape,
                      const LatentMatrices& matrices) {
  std::vector<std::vector<LatentHeads>> heads;
  std::vector<uint32_t> widths;
  for (const PlanGroup& group : builder.plan().groups) {
    heads.push_back(latent_heads(shape, matrices.key, group.share));
    widths.push_back(std::max(1u, head_count(heads.back())) * query_stride(shape));
  }
  Bundle out = builder.add_values(RowSet::kTokens, widths);
  builder.reads(x, format_for(matrices.query));
  builder.reads(angles, ActFormat::kF32);
  builder.writes(out);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    ops.push_back(std::make_unique<LatentQueriesOp>(x.values[g], angles.values[g], out.values[g],
                                                    shape, matrices, heads[g], group.share,
                                                    cutting_of(builder, g)));
  }
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

Bundle latent_values(GraphBuilder& builder, std::string name, const Bundle& mixes,
                     const Bundle& queries, const LatentShape& shape,
                     const LatentMatrices& matrices) {
  const Weight& output = matrices.output;
  Bundle out = column_values(builder, output);
  builder.reads(mixes, format_for(matrices.value));
  builder.reads(queries, ActFormat::kF32);
  builder.writes(out);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const PlanGroup& group = builder.plan().groups[g];
    ops.push_back(std::make_unique<LatentValuesOp>(
        mixes.values[g], queries.values[g], out.values[g], shape, matrices.value,
        latent_heads(shape, matrices.key, group.share),
        column_slices(*output.cuts, output.unit, output.k, group.share), group.share,
        cutting_of(builder, g)));
  }
  builder.append(Mode::kParallel, std::move(name), std::move(ops));
  return out;
}

}  // namespace hearth
