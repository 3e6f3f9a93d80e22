#include "store/piece_fetch.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(ContentRange, IsReadStrictly) {
  const auto range = read_content_range("bytes 7-9/20");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 7u);
  EXPECT_EQ(range->end, 10u);
  EXPECT_EQ(range->size, 20u);
  EXPECT_FALSE(read_content_range("bytes 7-9/*")->size);
  for (const char* text : {"", "bytes", "bytes 9-7/20", "bytes */20", "bytes 1-2", "bytes 1-2/3x",
                           "bytes 0-18446744073709551615/1", "octets 1-2/3"}) {
    EXPECT_FALSE(read_content_range(text)) << text;
  }
}

}  // namespace
}  // namespace hearth
