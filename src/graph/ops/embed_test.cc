// Tests the embedding op with a scale, positions and token types.
#include <gtest/gtest.h>

#include "graph/ops/rows.h"
#include "graph/ops/test_ops.h"

namespace hearth {
namespace {

constexpr uint32_t kWidth = 72, kTokens = 100, kPositions = 33, kMaxRows = 60;

// A step of items, each given by its number of rows and its first position.
struct Step {
  explicit Step(const std::vector<std::pair<uint32_t, uint32_t>>& of) {
    for (auto [rows, position] : of) {
      items.push_back({static_cast<uint32_t>(tokens.size()), rows, position, nullptr});
      for (uint32_t r = 0; r < rows; ++r) {
        tokens.push_back(static_cast<int32_t>((7 * tokens.size() + 3) % kTokens));
        positions.push_back(position + r);
        row_items.push_back(static_cast<uint32_t>(items.size()) - 1);
      }
    }
  }
  StepView view() const {
    StepView step;
    step.tokens = tokens;
    step.positions = positions;
    step.row_items = row_items;
    step.items = items;
    return step;
  }
  std::vector<StepItem> items;
  std::vector<int32_t> tokens;
  std::vector<uint32_t> positions, row_items;
};

TEST(Embed, ScalesThenAddsPositionAndTypeInOrder) {
  const TestMatrix token(kTokens, kWidth, 1), position(kPositions, kWidth, 2), type(1, kWidth, 3),
      second_type(1, kWidth, 4);
  const Step step({{20, 0}, {1, 32}, {33, 0}, {6, 9}});
  std::vector<uint8_t> second(step.tokens.size(), 0);
  for (size_t r = 7; r < 20; ++r) second[r] = 1;
  for (const Plan& plan : test_plans(kMaxRows)) {
    const std::vector<uint32_t> shares(plan.shard_count(), 1);
    const AxisCuts token_cuts(7, 1, shares), position_cuts(3, 1, shares);
    const TestWeight tokens(token, token_cuts, 16), positions(position, position_cuts, 16);
    const VectorWeight types = test_vector(type, plan.shard_count());
    const VectorWeight second_types = test_vector(second_type, plan.shard_count());
    for (bool with_position : {false, true}) {
      for (bool with_type : {false, true}) {
        GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
        const float scale = with_type ? 11.3137085f : 1.0f;
        const Bundle x = embed(
            builder, {&tokens.weight, with_position ? &positions.weight : nullptr,
                      with_type ? &types : nullptr, with_type ? &second_types : nullptr, scale});
        test_output(builder, x);
        TestRun run(std::move(builder).finish());
        StepView view = step.view();
        if (with_type) view.second = second;
        run.run(view);
        for (uint32_t r = 0; r < step.tokens.size(); ++r) {
          for (uint32_t i = 0; i < kWidth; ++i) {
            float expected = token.row(static_cast<uint32_t>(step.tokens[r]))[i] * scale;
            if (with_position) expected += position.row(step.positions[r])[i];
            if (with_type) expected += (second[r] != 0 ? second_type : type).x[i];
            for (ValueId value : x.values) {
              const float* row = run.context().f32(value) + r * run.context().f32_stride(value);
              ASSERT_EQ(row[i], expected) << "row " << r << " element " << i;
            }
          }
        }
      }
    }
  }
}

TEST(EmbedDeathTest, TablesOfOtherWidthsAreNotTaken) {
  const Plan plan = even_plan(Phase::kPrefill, kMaxRows, 1, 1, 1);
  const AxisCuts cuts(2, 1, std::vector<uint32_t>{1});
  const Weight wide = cut_weight("wide", DType::kF32, 32, 64, CutBy::kRows, cuts, 16);
  const Weight narrow = cut_weight("narrow", DType::kF32, 32, 32, CutBy::kRows, cuts, 16);
  const VectorWeight type{32, {}};
  GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
  EXPECT_DEATH(embed(builder, {&wide, &narrow, nullptr}), "as wide");
  EXPECT_DEATH(embed(builder, {&wide, nullptr, &type}), "as wide");
  EXPECT_DEATH(embed(builder, {&wide, nullptr, nullptr, &type}), "as wide");
}

}  // namespace
}  // namespace hearth
