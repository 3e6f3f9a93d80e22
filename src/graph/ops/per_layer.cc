#include "graph/ops/per_layer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "graph/context.h"
#include "graph/ops/row_tasks.h"

namespace hearth {
namespace {

class PerLayerOp : public Op {
 public:
  PerLayerOp(ValueId products, uint32_t column, const PerLayerShape& shape, uint32_t shard,
             const std::shared_ptr<const FileRows>& table)
      : products_(products), column_(column), shape_(shape), shard_(shard), table_(table) {}

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    const uint32_t width = shape_.layers * shape_.length;
    load.shared_bytes = 2.0 * sizeof(float) * step.rows * width;
    return load;
  }

  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    const StepView& step = context.step();
    const float by = std::sqrt(static_cast<float>(shape_.length)), half = std::sqrt(0.5f);
    auto* token = reinterpret_cast<float*>(worker.scratch);
    const RowRange range = rows_of(worker, step.rows());
    for (uint32_t r = range.begin; r < range.end; ++r) {
      float* row = context.f32(products_) + r * context.f32_stride(products_) + column_;
      table_->read(static_cast<uint64_t>(step.tokens[r]), token);
      for (uint32_t i = 0; i < shape_.layers * shape_.length; ++i) row[i] *= shape_.scale;
      for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
        float* part = row + size_t{layer} * shape_.length;
        const float* of_token = token + size_t{layer} * shape_.length;
        norm_row(context, shape_.norm, shard_, part, part);
        for (uint32_t i = 0; i < shape_.length; ++i) {
          const float scaled = by * of_token[i];
          part[i] = (part[i] + scaled) * half;
        }
      }
    }
  }

 private:
  ValueId products_;
  uint32_t column_;
  PerLayerShape shape_;
  uint32_t shard_;
  std::shared_ptr<const FileRows> table_;
};

// Returns the column of a group's value that holds row 0 of a replicated matrix.
uint32_t first_column(const std::vector<RowSlice>& slices) {
  return std::ranges::find(slices, 0u, &RowSlice::row)->column;
}

}  // namespace

void per_layer_inputs(GraphBuilder& builder, std::string name, const LinearOut& products,
                      const PerLayerShape& shape, const std::shared_ptr<const FileRows>& table) {
  const size_t row_bytes = size_t{shape.layers} * shape.length * sizeof(float);
  HEARTH_CHECK(row_bytes <= kOpTileBytes, "scratch holds a row of the table");
  builder.reads(products.bundle, ActFormat::kF32);
  builder.append(Mode::kParallel, std::move(name), op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<PerLayerOp>(products.bundle.values[g],
                                                       first_column(products.slices[0][g]), shape,
                                                       first_shard(builder, g), table);
                 }));
}

LayerColumns columns_of_layer(const LinearOut& products, uint32_t layer, uint32_t length) {
  LayerColumns columns{products.bundle, {}};
  for (const std::vector<RowSlice>& slices : products.slices[0]) {
    columns.first.push_back(first_column(slices) + layer * length);
  }
  return columns;
}

}  // namespace hearth
