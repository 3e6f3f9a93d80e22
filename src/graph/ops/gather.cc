#include "graph/ops/gather.h"

#include <algorithm>

#include "base/check.h"
#include "graph/ops/gemm_tasks.h"
#include "graph/ops/row_tasks.h"
#include "graph/slices.h"

namespace hearth {
namespace {

// Columns that a thread makes at a time, whole blocks.
constexpr uint32_t kGatherColumns = 512;

// The place of an element: a column of one of several values.
struct GatherPlace {
  uint32_t value, column;
};

// Makes one group's value. Threads share the pairs of a row and kGatherColumns columns.
class GatherOp : public Op {
 public:
  // Makes an op that sets column c of `out` to the column that `places[c]` names among `from`.
  GatherOp(std::vector<ValueId> from, ValueId out, std::vector<GatherPlace> places)
      : from_(std::move(from)), out_(out), places_(std::move(places)) {
    HEARTH_CHECK(places_.size() % kBlock == 0, "gathered columns are whole blocks");
  }

  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    load.shared_bytes = static_cast<double>(places_.size()) * step.rows *
                        (sizeof(float) + written_bytes(step.graph, out_));
    return load;
  }

  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    const auto width = static_cast<uint32_t>(places_.size());
    const uint32_t parts = (width + kGatherColumns - 1) / kGatherColumns;
    auto* tile = reinterpret_cast<float*>(worker.scratch);
    auto* rows = reinterpret_cast<const float**>(tile + kGatherColumns);
    const RowRange range = rows_of(worker, context.rows(out_) * parts);
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const uint32_t row = i / parts, first = i % parts * kGatherColumns;
      const uint32_t count = std::min(kGatherColumns, width - first);
      for (size_t v = 0; v < from_.size(); ++v) {
        rows[v] = context.f32(from_[v]) + row * context.f32_stride(from_[v]);
      }
      for (uint32_t c = 0; c < count; ++c) {
        const GatherPlace& place = places_[first + c];
        tile[c] = rows[place.value][place.column];
      }
      for (size_t f = 0; f < kActFormats; ++f) {
        const auto format = static_cast<ActFormat>(f);
        if (!context.wants(out_, format)) continue;
        context.kernels().quantize[f]({tile, first, count, context.buffer(out_, format), row});
      }
    }
  }

 private:
  std::vector<ValueId> from_;
  ValueId out_;
  std::vector<GatherPlace> places_;
};

std::vector<ColumnSlice> slices_of_group(const GraphBuilder& builder, const Weight& weight,
                                         uint32_t g) {
  return column_slices(*weight.cuts, weight.unit, weight.k, builder.plan().groups[g].share);
}

// Returns the places of the input's elements among the groups' values.
std::vector<GatherPlace> input_places(const GraphBuilder& builder, const Weight& weight) {
  std::vector<GatherPlace> places(weight.k);
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    for (const ColumnSlice& slice : slices_of_group(builder, weight, g)) {
      for (uint32_t i = 0; i < slice.elements; ++i) {
        places[slice.element + i] = {g, slice.column + i};
      }
    }
  }
  return places;
}

Bundle gather_columns(GraphBuilder& builder, const std::string& name, const Bundle& x,
                      const Weight& weight) {
  const std::vector<GatherPlace> input = input_places(builder, weight);
  Bundle out = column_values(builder, weight);
  builder.reads(x, ActFormat::kF32);
  builder.writes(out);
  builder.append(Mode::kReduce, name, op_per_group(builder, [&](uint32_t g) {
                   std::vector<GatherPlace> places;
                   for (const ColumnSlice& slice : slices_of_group(builder, weight, g)) {
                     HEARTH_CHECK(slice.column == places.size(), "cuts lie between blocks");
                     for (uint32_t i = 0; i < slice.elements; ++i) {
                       places.push_back(input[(*weight.order)[slice.element + i]]);
                     }
                   }
                   return std::make_unique<GatherOp>(x.values, out.values[g], std::move(places));
                 }));
  return out;
}

}  // namespace

Bundle in_column_order(GraphBuilder& builder, const std::string& name, const Bundle& x,
                       const Weight& weight) {
  if (weight.order == nullptr) return x;
  HEARTH_CHECK(weight.order->size() == weight.k, "an order has every column");
  if (weight.cut == CutBy::kColumns) return gather_columns(builder, name, x, weight);
  std::vector<GatherPlace> places;
  for (uint32_t column : *weight.order) places.push_back({0, column});
  Bundle out = builder.add_values(RowSet::kTokens, same_width(builder, weight.k));
  builder.reads(x, ActFormat::kF32);
  builder.writes(out);
  builder.append(Mode::kParallel, name, op_per_group(builder, [&](uint32_t g) {
                   return std::make_unique<GatherOp>(std::vector{x.values[g]}, out.values[g],
                                                     places);
                 }));
  return out;
}

}  // namespace hearth
