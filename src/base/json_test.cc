#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace hearth {
namespace {

TEST(Json, WritesEveryKindOfValue) {
  Json json;
  json.object().key("n").number(std::numeric_limits<uint64_t>::max()).key("i").integer(-3);
  json.key("list").array().boolean(true).null().real(0.25).end_array().end_object();
  EXPECT_EQ(json.line(), "{\"n\":18446744073709551615,\"i\":-3,\"list\":[true,null,0.25]}\n");
}

TEST(Json, EscapesTextAndMakesItWellFormed) {
  Json json;
  json.text("\"a\\\n\x01 \xc3\xa9 \xff");
  EXPECT_EQ(json.line(), "\"\\\"a\\\\\\n\\u0001 \xc3\xa9 \xef\xbf\xbd\"\n");
}

TEST(Json, WritesNonFiniteNumbersAsNull) {
  Json json;
  json.array().real(std::numeric_limits<double>::quiet_NaN());
  json.real(-std::numeric_limits<double>::infinity()).end_array();
  EXPECT_EQ(json.line(), "[null,null]\n");
}

TEST(Json, WritesFloatsWithTheirOwnDigits) {
  Json json;
  json.array().real(1e-5f).real(0.1f).real(1.5).end_array();
  EXPECT_EQ(json.line(), "[0.00001,0.1,1.5]\n");
}

}  // namespace
}  // namespace hearth
