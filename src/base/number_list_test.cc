#include "base/number_list.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;

TEST(NumberList, ReadsNumbersAndRangesInTheirOrder) {
  EXPECT_EQ(parse_number_list("7", ',', 8), Numbers{7});
  EXPECT_EQ(parse_number_list("0-3,8", ',', 100), (Numbers{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_number_list("8+0-1+1", '+', 100), (Numbers{8, 0, 1, 1}));
  EXPECT_EQ(parse_number_list("2-2", ',', 100), Numbers{2});
  // The largest limit there is.
  EXPECT_EQ(parse_number_list("4294967294", ',', 4294967295u), Numbers{4294967294u});
}

TEST(NumberList, RefusesEverythingElse) {
  for (const char* wrong :
       {"",    ",",  "3-1", "1,", ",1", "1,,2", "1--2", "1-2-3", "a",     "1a",
        "1 2", " 1", "1 ",  "1-", "-1", "+1",   "1+2",  "100",   "0-100", "99999999999"}) {
    EXPECT_FALSE(parse_number_list(wrong, ',', 100)) << wrong;
  }
  EXPECT_FALSE(parse_number_list("0,1", '+', 100));
}

TEST(NumberList, WritesWhatItReads) {
  EXPECT_EQ(number_list_text({}), "");
  EXPECT_EQ(number_list_text({7}), "7");
  EXPECT_EQ(number_list_text({0, 1, 3, 8, 9, 10}), "0-1,3,8-10");
  EXPECT_EQ(parse_number_list("0-1,3,8-10", ',', 11), (Numbers{0, 1, 3, 8, 9, 10}));
}

}  // namespace
}  // namespace hearth
