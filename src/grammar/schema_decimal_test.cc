#include "grammar/schema_decimal.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Decimal, HasTheDigitsThatWereWritten) {
  EXPECT_EQ(parse_decimal("-12.50"), (Decimal{true, "12", "5"}));
  EXPECT_EQ(parse_decimal("0.003"), (Decimal{false, "", "003"}));
  EXPECT_EQ(parse_decimal("1e+20"), (Decimal{false, "100000000000000000000", ""}));
  EXPECT_EQ(parse_decimal("12.34e-3"), (Decimal{false, "", "01234"}));
  EXPECT_EQ(parse_decimal("1.5e1"), (Decimal{false, "15", ""}));
  EXPECT_EQ(parse_decimal("-0.0"), (Decimal{false, "", ""}));
}

TEST(Decimal, CountsAreWhole) {
  EXPECT_EQ(count_of(boost::json::value(2.0)), 2);
  EXPECT_EQ(count_of(boost::json::value(0)), 0);
  EXPECT_FALSE(count_of(boost::json::value(2.5)));
  EXPECT_FALSE(count_of(boost::json::value(-1)));
  EXPECT_FALSE(count_of(boost::json::value("2")));
}

}  // namespace
}  // namespace hearth
