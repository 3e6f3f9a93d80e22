#include "embed/endpoint_reply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

std::string reply_error(std::string_view json, size_t count = 1, uint32_t width = 2) {
  try {
    read_embeddings(json, count, width);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResource);
    return error.what();
  }
  return "none";
}

TEST(EndpointReply, ReadsNumbersInTheOrderOfTheTexts) {
  auto vectors = read_embeddings(
      R"({"data":[{"index":1,"embedding":[0,-2]},{"index":0,"embedding":[3,4.0]}],"usage":{}})", 2,
      2);
  EXPECT_EQ(vectors[0], (EmbedVector{0.6f, 0.8f}));
  EXPECT_EQ(vectors[1], (EmbedVector{0, -1}));
}

TEST(EndpointReply, ReadsBase64OfFloats) {
  // 3 and 4 as little-endian floats: 00 00 40 40, 00 00 80 40.
  auto vectors = read_embeddings(R"({"data":[{"embedding":"AABAQAAAgEA="}]})", 1, 0);
  EXPECT_EQ(vectors[0], (EmbedVector{0.6f, 0.8f}));
}

TEST(EndpointReply, RefusesWhatIsNoReply) {
  EXPECT_NE(reply_error("").find("the reply is not JSON"), std::string::npos);
  EXPECT_NE(reply_error("<html>").find("the reply is not JSON"), std::string::npos);
  EXPECT_NE(reply_error(R"({"data":[{"embedding":[NaN,1]}]})").find("the reply is not JSON"),
            std::string::npos);
  EXPECT_NE(reply_error("[1]").find("\"data\""), std::string::npos);
  EXPECT_NE(reply_error(R"({"data":{}})").find("\"data\""), std::string::npos);
  EXPECT_NE(reply_error(R"({"data":[7]})").find("not an object"), std::string::npos);
  EXPECT_NE(reply_error(R"({"data":[{}]})").find("\"embedding\""), std::string::npos);
  EXPECT_NE(reply_error(R"({"data":[{"embedding":null}]})").find("\"embedding\""),
            std::string::npos);
  EXPECT_NE(reply_error(std::string(100, '[')).find("the reply is not JSON"), std::string::npos);
}

TEST(EndpointReply, RefusesOtherCountsAndWidths) {
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":""}]})"),
            "a vector of the reply has 0 elements instead of 2");
  EXPECT_EQ(reply_error(R"({"data":[]})"), "the reply has 0 vectors for 1 texts");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[1,2]},{"embedding":[1,2]}]})"),
            "the reply has 2 vectors for 1 texts");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[1,2,3]}]})"),
            "a vector of the reply has 3 elements instead of 2");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[]}]})", 1, 0),
            "a vector of the reply has 0 elements instead of 0");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[1]},{"embedding":[1,2]}]})", 2, 0),
            "a vector of the reply has 2 elements instead of 1");
}

TEST(EndpointReply, RefusesElementsThatAreNoFiniteNumbers) {
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[null,1]}]})"),
            "a vector has an element that is not a number");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":["1",1]}]})"),
            "a vector has an element that is not a number");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[1e39,1]}]})"),
            "a vector has an element that is not finite");
  // 7fc00000, a NaN, and 1.
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":"AADAfwAAgD8="}]})"),
            "a vector has an element that is not finite");
  EXPECT_EQ(reply_error(R"({"data":[{"embedding":[0,-0.0]}]})"), "a vector is zero");
}

TEST(EndpointReply, RefusesIndicesThatAreNone) {
  for (const char* index : {"1", "-1", "0.5", "\"0\"", "null", "1e300"}) {
    std::string json = R"({"data":[{"embedding":[1,2],"index":)" + std::string(index) + "}]}";
    EXPECT_NE(reply_error(json).find("index"), std::string::npos) << json;
  }
  EXPECT_EQ(
      reply_error(R"({"data":[{"embedding":[1,2],"index":1},{"embedding":[1,2],"index":1}]})", 2),
      "two items of the reply have the same index");
}

TEST(EndpointReply, NamesTheFirstModel) {
  EXPECT_EQ(read_first_model(R"({"data":[{"id":"bge"},{"id":"other"}]})"), "bge");
  EXPECT_THROW(read_first_model(R"({"data":[]})"), Error);
  EXPECT_THROW(read_first_model(R"({"data":[{"id":7}]})"), Error);
}

TEST(EndpointReply, QuotesWhatARefusalSays) {
  EXPECT_EQ(refusal_text(R"({"error":{"message":"too long"}})"), "too long");
  EXPECT_EQ(refusal_text(R"({"error":"too long"})"), "too long");
  EXPECT_EQ(refusal_text("plain\nwords\x1b[2J"), "plain words [2J");
  EXPECT_EQ(refusal_text(""), "");
  EXPECT_EQ(refusal_text(std::string(10'000, 'a')).size(), 200u);
}

}  // namespace
}  // namespace hearth
