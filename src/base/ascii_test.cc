#include "base/ascii.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Ascii, LowersLettersAndNothingElse) {
  EXPECT_EQ(ascii_lower("Content-LENGTH: \xc3\x84@[`{"), "content-length: \xc3\x84@[`{");
}

TEST(Ascii, ReadsHexadecimalDigits) {
  std::string digits = "0123456789abcdefABCDEF";
  for (size_t i = 0; i < digits.size(); ++i) {
    EXPECT_EQ(hex_value(digits[i]), static_cast<int>(i < 16 ? i : i - 6)) << digits[i];
  }
  for (char c : {'g', 'G', '/', ':', '@', '`', ' ', '\xff', '\0'}) EXPECT_EQ(hex_value(c), -1);
}

}  // namespace
}  // namespace hearth
