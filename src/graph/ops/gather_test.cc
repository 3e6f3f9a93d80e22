// Tests in_column_order(), which brings inputs into the order of a matrix's columns. Each element
// must be the one that the order names, in every format, for all cuts over shards and groups.
#include "graph/ops/gather.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "graph/ops/linear.h"
#include "graph/ops/test_ops.h"

namespace hearth {
namespace {

constexpr uint32_t kGatherUnits = 37, kGatherWidth = kGatherUnits * 32, kGatherRows = 9;

const TestMatrix& gather_input() {
  static const TestMatrix m(kGatherRows, kGatherWidth, 1);
  return m;
}

ColumnOrder shuffled_order() {
  std::vector<uint32_t> order(kGatherWidth);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(5);
  for (uint32_t i = kGatherWidth - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  return std::make_shared<const std::vector<uint32_t>>(std::move(order));
}

// Fills each group's value with the columns of the input that the group's share of a column-cut
// weight reads.
class TestShareOp : public Op {
 public:
  TestShareOp(std::vector<ColumnSlice> slices, ValueId to) : slices_(std::move(slices)), to_(to) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    if (worker.index != 0) return;
    for (uint32_t r = 0; r < context.step().rows(); ++r) {
      float* row = context.f32(to_) + r * context.f32_stride(to_);
      for (const ColumnSlice& slice : slices_) {
        std::copy_n(gather_input().row(r) + slice.element, slice.elements, row + slice.column);
      }
    }
  }

 private:
  std::vector<ColumnSlice> slices_;
  ValueId to_;
};

Bundle shares_of_input(GraphBuilder& builder, const Weight& weight) {
  Bundle x = column_values(builder, weight);
  builder.writes(x);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    const GroupShare& share = builder.plan().groups[g].share;
    ops.push_back(std::make_unique<TestShareOp>(
        column_slices(*weight.cuts, weight.unit, weight.k, share), x.values[g]));
  }
  builder.append(Mode::kParallel, "input", std::move(ops));
  return x;
}

void expect_gathered(const ExecutionContext& context, ValueId value, const ColumnSlice& slice,
                     const ColumnOrder& order, uint32_t rows) {
  const ActView q8 = context.view(value, ActFormat::kQ8);
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t i = 0; i < slice.elements; ++i) {
      const float want = gather_input().row(r)[(*order)[slice.element + i]];
      const size_t at = r * context.f32_stride(value) + slice.column + i;
      ASSERT_EQ(context.f32(value)[at], want) << r << " " << i;
      ASSERT_NEAR(q8.scale[at / 32] * q8.codes[at], want, 0.5 / 127 + 1e-6);
    }
  }
}

TEST(Gather, TakesTheElementsThatTheOrderSays) {
  for (const CutBy cut : {CutBy::kRows, CutBy::kColumns}) {
    for (const Plan& plan : test_plans(kGatherRows)) {
      const AxisCuts cuts(kGatherUnits, 1, std::vector<uint32_t>(plan.shard_count(), 1));
      Weight weight = cut_weight("w", DType::kQ8_0, kGatherWidth, kGatherWidth, cut, cuts, 32);
      weight.order = shuffled_order();
      GraphBuilder builder(plan, kernels_for(available_isas(detect_cpu_features()).back()),
                           kGatherRows);
      const bool columns = cut == CutBy::kColumns;
      const Bundle x =
          columns ? shares_of_input(builder, weight) : test_input(builder, gather_input());
      const Bundle out = in_column_order(builder, "order", x, weight);
      builder.reads(out, ActFormat::kQ8);
      test_output(builder, out);
      TestRun run(std::move(builder).finish());
      for (uint32_t rows : {1u, kGatherRows}) {
        const std::vector<int32_t> tokens(rows);
        StepView step;
        step.tokens = tokens;
        run.run(step);
        for (uint32_t g = 0; g < plan.group_count(); ++g) {
          std::vector<ColumnSlice> slices = {{0, 0, kGatherWidth, 0}};
          if (columns) slices = column_slices(cuts, 32, kGatherWidth, plan.groups[g].share);
          for (const ColumnSlice& slice : slices) {
            expect_gathered(run.context(), out.values[g], slice, weight.order, rows);
          }
        }
      }
    }
  }
}

TEST(Gather, NothingIsDoneWhereColumnsLieInOrder) {
  const Plan plan = even_plan(Phase::kPrefill, kGatherRows, 1, 1, 1);
  const AxisCuts cuts(kGatherUnits, 1, std::vector<uint32_t>{1});
  const Weight weight =
      cut_weight("w", DType::kQ8_0, kGatherWidth, kGatherWidth, CutBy::kRows, cuts, 32);
  GraphBuilder builder(plan, kernels_for(Isa::kReference), kGatherRows);
  const Bundle x = test_input(builder, gather_input());
  EXPECT_EQ(in_column_order(builder, "order", x, weight).values, x.values);
}

}  // namespace
}  // namespace hearth
