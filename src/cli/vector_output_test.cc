#include "cli/vector_output.h"

#include <gtest/gtest.h>

#include "cli/npy.h"

namespace hearth {
namespace {

TEST(VectorOutput, JsonHasItsKeysInOrder) {
  std::vector<float> vector = {0.1f, -1, 1e-10f, 16777216};
  VectorRow row{3, "", 7, 7, vector};
  EXPECT_EQ(vector_json(row), "{\"index\":3,\"tokens\":7,\"embedding\":[0.1,-1,1e-10,16777216]}\n");
  row.id = "\"a\"";
  row.whole = 9;
  row.vector = {};
  EXPECT_EQ(vector_json(row),
            "{\"index\":3,\"id\":\"a\",\"tokens\":7,\"whole_tokens\":9,\"embedding\":[]}\n");
}

// The header is overwritten at the end, so its size must not change.
TEST(VectorOutput, TheHeaderOfAFileHasOneSize) {
  for (uint64_t rows : {uint64_t{1}, uint64_t{123456}, UINT64_MAX}) {
    for (uint64_t columns : {1u, 768u, 131072u}) {
      EXPECT_EQ(npy_header(rows, columns).size(), npy_header(0, columns).size());
    }
  }
}

}  // namespace
}  // namespace hearth
