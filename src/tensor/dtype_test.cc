#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace hearth {
namespace {

TEST(DType, RowsSayWhatTheirTypeIs) {
  std::set<std::string_view> names;
  for (DType dtype : all_dtypes()) {
    const DTypeInfo& info = dtype_info(dtype);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(static_cast<size_t>(dtype), names.size() - 1);
    const bool plain = info.block_elements == 1;
    EXPECT_TRUE(plain || info.block_elements % kBlock == 0) << info.name;
    EXPECT_EQ(info.widen != nullptr, plain) << info.name;
    EXPECT_EQ(info.decode != nullptr, !plain) << info.name;
    for (const BlockScale& scale : info.scales) EXPECT_LT(scale.offset, info.block_bytes);
  }
}

TEST(DType, RowsOfKindsSayWhatTheirKindIs) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kPackKinds; ++i) {
    const PackKindInfo& info = pack_kind_info(static_cast<PackKind>(i));
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_NE(info.unpack_codes == nullptr, info.unpack_values == nullptr) << info.name;
    EXPECT_EQ(info.scale_bytes == 0, info.block_scale == ScaleForm::kNone) << info.name;
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
