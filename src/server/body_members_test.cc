#include "server/body_members.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "server/json_fields.h"

namespace hearth {
namespace {

TEST(BodyMembers, AreThoseOfTheObject) {
  constexpr const char* kBody =
      R"({"model":"m\u00e9","n":3,"big":18446744073709551615,"t":0.5,"on":true,"none":null,)"
      R"("messages":[{"role":"user","content":"x","model":"y"},[1,2]],"empty":[],)"
      R"("options":{"stop":["a"],"n":4},"model2":"","nothing":{},"n":7})";
  EXPECT_EQ(boost::json::serialize(read_members(kBody, 8)),
            R"({"model":"mé","n":7,"big":18446744073709551615,"t":5E-1,"on":true,"none":null,)"
            R"("messages":[null],"empty":[],"options":{},"model2":"","nothing":{}})");
  EXPECT_TRUE(read_members("\xef\xbb\xbf {} ", 8).empty());
  const std::string text(100'000, 'x');
  EXPECT_EQ(read_members(R"({"prompt":")" + text + "\"}", 8).at("prompt").as_string(), text);
}

// A faulty body throws the same error as read_object().
TEST(BodyMembers, HaveTheErrorsOfAWholeReading) {
  auto error_of = [](auto read, const std::string& body) {
    try {
      read(body, 4);
    } catch (const RequestError& error) {
      return error.api().code + ": " + error.api().message;
    }
    return std::string("none");
  };
  for (const char* body : {"", "{", "[]", "3", "\"a\"", "{} {}", "{\"a\":1,}", "{\"a\":[[[[1]]]]}",
                           "{\"a\":1e999}", "{\"a\":[1e999]}", "{\"a\":\"\xff\"}",
                           "{\"a\":\"\\ud800\"}", "{\"a\" 1}", "nul", "{\"a\":[{\"b\":[1]}]}"}) {
    EXPECT_EQ(error_of(read_members, body), error_of(read_object, body)) << body;
  }
}

}  // namespace
}  // namespace hearth
