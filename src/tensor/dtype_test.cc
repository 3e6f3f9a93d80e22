#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(DType, TableFollowsTheEnum) {
  ASSERT_EQ(all_dtypes().size(), 16u);
  for (size_t i = 0; i < all_dtypes().size(); ++i) {
    const DTypeInfo& info = all_dtypes()[i];
    EXPECT_EQ(static_cast<size_t>(info.dtype), i);
    EXPECT_EQ(dtype_info(info.dtype).name, info.name);
  }
}

TEST(DType, RowBytes) {
  EXPECT_EQ(row_bytes(DType::kF32, 3), 12u);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 64), 68u);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 512), 420u);
  EXPECT_EQ(row_bytes(DType::kMXFP4, 0), 0u);
}

}  // namespace
}  // namespace hearth
