#include "models/weight_policy.h"

#include <gtest/gtest.h>

#include "formats/test_importance.h"
#include "models/test_source.h"

namespace hearth {
namespace {

class ImportancePolicy : public testing::Test {
 protected:
  // Returns the spec with importance entries for the matrices whose names satisfy `has`.
  template <typename Has>
  ModelSpec with(const Has& has) const {
    return make_spec(source_, WeightPolicy{DType::kQ8_0, false, made_importance(source_, has)});
  }

  TestSource made_ = made_source({.architecture = "qwen3moe",
                                  .layers = 2,
                                  .tied = false,
                                  .experts = {.count = 4, .chosen = 2, .ffn = 32}});
  ModelSource source_ = made_.source();
};

bool of_layer(std::string_view name) { return name.starts_with("blk."); }

TEST_F(ImportancePolicy, EntriesAreFoundByTheNamesOfTensors) {
  const ModelSpec spec = with(of_layer);
  for (const WeightSpec& weight : spec.weights) {
    const bool wanted = weight.layer >= 0 && is_made_by_policy(spec, weight);
    ASSERT_EQ(weight.importance != nullptr, wanted) << weight.name;
    if (weight.importance == nullptr) continue;
    EXPECT_EQ(weight.importance->name, weight.data->name);
  }
  EXPECT_EQ(make_spec(source_, WeightPolicy{DType::kQ8_0}).weights[0].importance, nullptr);
}

// 2 layers with 4 matrices of attention and 3 of experts, the table and the head.
TEST_F(ImportancePolicy, MatricesWithoutAnEntryAreCounted) {
  const auto all = [](std::string_view) { return true; };
  const auto no_queries = [](std::string_view name) { return !name.ends_with("attn_q.weight"); };
  EXPECT_EQ(weight_policy_notes(with(all)).warnings, std::vector<std::string>{});
  const PolicyNotes ends = weight_policy_notes(with(of_layer));
  EXPECT_EQ(ends.warnings, std::vector<std::string>{});
  EXPECT_EQ(ends.details.back(),
            "2 of 16 tensors that are quantised have no entry in 'made.imatrix': there all columns "
            "count the same");
  const PolicyNotes queries = weight_policy_notes(with(no_queries));
  ASSERT_EQ(queries.warnings.size(), 1u);
  EXPECT_TRUE(queries.warnings[0].starts_with("2 of 16 tensors")) << queries.warnings[0];
}

TEST_F(ImportancePolicy, EntriesOfAnotherModelAreRefusedByName) {
  TestSource other = made_source(
      {.architecture = "qwen3moe", .width = 96, .experts = {.count = 4, .chosen = 2, .ffn = 32}});
  const ModelSource wider = other.source();
  const auto queries = [](std::string_view name) { return name == "blk.0.attn_q.weight"; };
  try {
    make_spec(source_, WeightPolicy{DType::kQ8_0, false, made_importance(wider, queries)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_NE(std::string_view(error.what())
                  .find("'made.imatrix': entry 'blk.0.attn_q.weight' has 96 values"),
              std::string_view::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hearth
