#include "base/json_reader.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

std::string error_of(const std::string& text, uint32_t depth = kJsonDepth) {
  try {
    read_json(text, depth);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRequest);
    return error.what();
  }
  return "";
}

TEST(JsonReader, ReadsValues) {
  EXPECT_EQ(boost::json::serialize(read_json(R"( {"a": [1, -2.5, null], "b": "\u00e9"} )")),
            "{\"a\":[1,-2.5E0,null],\"b\":\"\xc3\xa9\"}");
  EXPECT_EQ(read_json(R"({"a": 1, "a": 2})").as_object().at("a").as_int64(), 2);
}

TEST(JsonReader, SaysWhereTextIsNoJson) {
  EXPECT_EQ(error_of("[1,]"), "this is not valid JSON: syntax error at byte 3");
  EXPECT_EQ(error_of("[1] x"), "this is not valid JSON: extra data at byte 4");
  EXPECT_EQ(error_of("[1, 2"), "the JSON is incomplete: it ends at byte 5");
  EXPECT_EQ(error_of(""), "the JSON is incomplete: it ends at byte 0");
  for (const char* text : {"NaN", "'a'", "\"\xff\"", "\"\\ud800\"", "01", "+1", "{a:1}", "[1 2]"}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

TEST(JsonReader, TakesNoNoticeOfAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(read_json(mark + "[1]").as_array().size(), 1u);
  EXPECT_EQ(error_of(mark + "[1,]"), "this is not valid JSON: syntax error at byte 6");
  EXPECT_EQ(error_of(mark + mark + "[1]"), "this is not valid JSON: syntax error at byte 3");
  EXPECT_EQ(error_of(mark + "[1"), "the JSON is incomplete: it ends at byte 5");
}

TEST(JsonReader, RefusesWhatWouldBecomeInfinite) {
  for (const char* text : {"1e999", "[[-1e400]]", R"({"a": {"b": 1e309}})"}) {
    EXPECT_EQ(error_of(text), "the JSON has a number beyond the range of a double") << text;
  }
  EXPECT_EQ(error_of("1e308"), "");
}

TEST(JsonReader, BoundsTheDepth) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(error_of(nested(4), 4), "");
  EXPECT_EQ(error_of(nested(5), 4), "the JSON is nested deeper than 4 levels at byte 4");
  EXPECT_NE(error_of(nested(1'000'000)), "");
}

}  // namespace
}  // namespace hearth
