#include "base/bytes_text.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(BytesText, ShowsBytesInLargeUnits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(3ull << 39), "1.50 TiB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "16777216.00 TiB");
}

}  // namespace
}  // namespace hearth
