#include "http/api_error.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <string>

#include "base/json_reader.h"

namespace hearth {
namespace {

TEST(ApiErrorTest, HasTheShapeOfOpenAi) {
  ApiError error{404, "", "model_not_found", "There is no \"x\".", "model", {{"Retry-After", "1"}}};
  EXPECT_EQ(error_body(error),
            R"({"error":{"message":"There is no \"x\".","type":"not_found_error","param":"model",)"
            "\"code\":\"model_not_found\"}}");
  HttpReply reply = error_reply(error);
  EXPECT_EQ(reply.status, 404u);
  EXPECT_EQ(reply.fields, error.fields);
  EXPECT_EQ(reply.content_type, "application/json");
}

TEST(ApiErrorTest, IsASentenceInLines) {
  const ApiError error{404, "", "model_not_found", "There is no \"x\".", "model", {{"A", "1"}}};
  constexpr HttpDialect kLines = HttpDialect::kLines;
  EXPECT_EQ(error_body(error, kLines), R"({"error":"There is no \"x\"."})");
  EXPECT_EQ(streamed_error(error, kLines), error_body(error, kLines) + "\n");
  EXPECT_EQ(streamed_error(error, HttpDialect::kEvents), "data: " + error_body(error) + "\n\n");
  EXPECT_EQ(error_reply(error, kLines).fields, error.fields);
  EXPECT_TRUE(shortage_words(kLines).reply.body.starts_with("{\"error\":\"not enough"));
  EXPECT_LE(error_body({400, "", "c", std::string(3000, '\x01')}, kLines).size(), kErrorBytes);
}

TEST(ApiErrorTest, TypesFollowTheStatusUnlessGiven) {
  EXPECT_EQ(error_type(400), "invalid_request_error");
  EXPECT_EQ(error_type(401), "authentication_error");
  EXPECT_EQ(error_type(429), "rate_limit_error");
  EXPECT_EQ(error_type(503), "server_error");
  EXPECT_NE(error_body({400, "own_type", "c", "m", {}, {}}).find("own_type"), std::string::npos);
}

TEST(ApiErrorTest, IsShortAndWellFormedWhateverItSays) {
  for (const char* part : {"a", "\x01", "\"", "\xe2\x82\xac", "\xff", "\xe2\x82"}) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += part;
    for (const std::optional<std::string>& param : {std::optional<std::string>(), {text}}) {
      std::string body = error_body({400, "", "code", text, param, {}});
      EXPECT_LE(body.size(), kErrorBytes);
      EXPECT_GT(body.size(), 300u);
      boost::json::value value = read_json(body);
      auto message = value.at("error").at("message").as_string();
      EXPECT_TRUE(message.ends_with("..."));
    }
  }
}

}  // namespace
}  // namespace hearth
