// Tests that random blocks of every tensor type have the values that the golden set gives
// (tests/golden/quants.py, in float64). Both know the same types.
#include <gtest/gtest.h>

#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_types.h"
#include "golden_set.h"

namespace hearth {
namespace {

std::vector<float> values_of(const SourceTensor& tensor) {
  std::vector<float> values(tensor.n_elements);
  dequantize_row(tensor.dtype, tensor.data.data(), values.size(), values.data());
  return values;
}

TEST(Types, BlocksMeanWhatTheGoldenSetSays) {
  const ModelSource file = open_gguf(golden_folder() + "types.gguf");
  EXPECT_EQ(file.tensors().size(), 2 * gguf_dtypes().size());
  for (DType dtype : gguf_dtypes()) {
    const std::string name(dtype_info(dtype).name);
    const SourceTensor& blocks = file.require_tensor(name);
    EXPECT_EQ(blocks.dtype, dtype) << name;
    EXPECT_TRUE(values_of(blocks) == values_of(file.require_tensor(name + ".values"))) << name;
  }
}

}  // namespace
}  // namespace hearth
