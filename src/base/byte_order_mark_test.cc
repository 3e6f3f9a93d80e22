#include "base/byte_order_mark.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(ByteOrderMark, IsTakenOffTheStartOnce) {
  EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbf"
                                    "abc"),
            "abc");
  EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbf\xef\xbb\xbf"), "\xef\xbb\xbf");
  EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbf"), "");
  for (std::string_view text : {"", "abc", "\xef\xbb", "a\xef\xbb\xbf", "\xff\xfe"}) {
    EXPECT_EQ(without_byte_order_mark(text), text);
  }
}

}  // namespace
}  // namespace hearth
