// Tests of folders whose matrices store columns in another order than that of their groups of
// scales: which of these matrices stay codes. The tests of all folders of codes check their results
// and bits.
#include <gtest/gtest.h>

#include "golden_set.h"
#include "models/registry.h"

namespace hearth {
namespace {

// Q, K and V have different orders of columns in some models and the same order in others, and so
// have gate and up.
TEST(OrderedColumns, StayCodesWhereWhatReadsAnInputHasOneOrder) {
  size_t models = 0;
  for (const GoldenModel& model : read_golden_set("hf_code_models")) {
    if (model.name.find("-order") == std::string::npos) continue;
    ++models;
    const ModelSource source = open_model_source(model.path);
    const ModelSpec spec = make_spec(source);
    const bool differ = model.name.ends_with("-orders");
    for (const WeightSpec& weight : spec.weights) {
      if (!weight.is_matrix() || !weight.data->has_codes()) continue;
      const bool alone = weight.cut == WeightCut::kColumns;
      EXPECT_EQ(weight.packed.code_bits, differ && !alone ? 0u : 4u) << weight.name;
    }
    EXPECT_EQ(spec.notes.size(), differ ? 1u : 0u) << model.name;
    EXPECT_TRUE(source.notes().empty());
  }
  EXPECT_EQ(models, 4u);
}

}  // namespace
}  // namespace hearth
