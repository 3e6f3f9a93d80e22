#include "server/api_error.h"

#include <gtest/gtest.h>

#include "text/json_reader.h"

namespace hearth {
namespace {

TEST(ApiError, HasOpenAisForm) {
  EXPECT_EQ(error_body({404, "not_found_error", "model_not_found", "no such model", "model", {}}),
            "{\"error\":{\"message\":\"no such model\",\"type\":\"not_found_error\","
            "\"param\":\"model\",\"code\":\"model_not_found\"}}");
  EXPECT_NE(error_body({500, "server_error", "internal", "", {}, {}}).find("\"param\":null"),
            std::string::npos);
}

TEST(ApiError, StaysBelowAKibibyteWhateverItQuotes) {
  for (std::string text : {std::string("x"), std::string("\x01"), std::string("\xF0\x9F\x98\x80"),
                           std::string("\""), std::string("\xFF")}) {
    std::string longer;
    while (longer.size() < 5000) longer += text;
    std::string body =
        error_body({400, "invalid_request_error", "invalid_value", longer, longer, {}});
    EXPECT_LT(body.size(), 1024u);
    auto error = read_json(body).as_object().at("error").as_object();
    EXPECT_GT(error.at("message").as_string().size(), 60u);
  }
}

}  // namespace
}  // namespace hearth
