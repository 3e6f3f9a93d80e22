#include "server/embedding_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

constexpr uint32_t kTokens = 100, kWidth = 8;

EmbeddingCall read(const char* body) {
  return read_embedding_call(body, {.inputs = 3}, kTokens, kWidth);
}

std::string error_of(const char* body) {
  try {
    read(body);
  } catch (const RequestError& error) {
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}

using Ids = std::vector<int32_t>;

TEST(EmbeddingRequest, EveryFormOfInput) {
  EXPECT_EQ(read(R"({"input":"a"})").inputs, std::vector<Prompt>{Prompt{"a"}});
  EXPECT_EQ(read(R"({"input":["a","b"]})").inputs, (std::vector<Prompt>{Prompt{"a"}, Prompt{"b"}}));
  EXPECT_EQ(read(R"({"input":[1,2]})").inputs, (std::vector<Prompt>{Prompt{"", Ids{1, 2}}}));
  EXPECT_EQ(read(R"({"input":[[1],[2,3]]})").inputs,
            (std::vector<Prompt>{Prompt{"", Ids{1}}, Prompt{"", Ids{2, 3}}}));
  EXPECT_EQ(read(R"({"input":["a",[2,3]]})").inputs,
            (std::vector<Prompt>{Prompt{"a"}, Prompt{"", Ids{2, 3}}}));
}

TEST(EmbeddingRequest, TextsMayBeCut) {
  auto cut = [](const std::string& fields) {
    return read(("{\"input\":\"a\"," + fields + "}").c_str()).truncate_to;
  };
  EXPECT_EQ(cut(R"("truncate_prompt_tokens":5)"), 5u);
  EXPECT_GT(cut(R"("truncate_prompt_tokens":-1)"), 1u << 30);
  EXPECT_GT(cut(R"("truncate":true)"), 1u << 30);
  EXPECT_FALSE(cut(R"("truncate":false,"truncate_prompt_tokens":null)"));
  EXPECT_EQ(error_of(R"({"input":"a","truncate_prompt_tokens":0})").find("invalid_value: trunc"),
            0u);
}

TEST(EmbeddingRequest, RefusesEveryUnsupportedFieldByName) {
  for (const UnbuiltField& field : unbuilt_embedding_fields()) {
    std::string body = fmt::format(R"({{"input":"a","{}":[3]}})", field.name);
    EXPECT_EQ(error_of(body.c_str()).find(fmt::format("unsupported_parameter: {} ", field.name)),
              0u)
        << field.name;
  }
  EXPECT_EQ(error_of(R"({"input":"a","normalize":true,"embd_normalize":2,"embed_dtype":"float32",
      "options":{},"prompt_name":null,"truncation_side":"right","user":"x"})"),
            "none");
  EXPECT_NE(error_of(R"({"input":"a","normalize":false})"), "none");
  EXPECT_NE(error_of(R"({"input":"a","embd_normalize":-1})"), "none");
}

TEST(EmbeddingRequest, TheOtherFields) {
  EmbeddingCall call = read(R"({"input":"a","user":"u","model":null})");
  EXPECT_EQ(call.model, "");
  EXPECT_FALSE(call.base64);
  EXPECT_FALSE(call.dimensions);
  call = read(R"({"input":"a","model":"m","encoding_format":"base64","dimensions":8})");
  EXPECT_EQ(call.model, "m");
  EXPECT_TRUE(call.base64);
  EXPECT_EQ(call.dimensions, 8u);
  EXPECT_FALSE(read(R"({"input":"a","encoding_format":"float"})").base64);
}

TEST(EmbeddingRequest, RefusesByName) {
  EXPECT_EQ(error_of("{}"), "missing_required_parameter: input is missing");
  EXPECT_EQ(error_of(R"({"input":1})"),
            "invalid_type: input is a number; it must be a string or an array");
  EXPECT_EQ(error_of(R"({"input":""})"),
            "invalid_value: input is empty: an embedding needs a text");
  EXPECT_EQ(error_of(R"({"input":["a",""]})"),
            "invalid_value: input[1] is empty: an embedding needs a text");
  EXPECT_EQ(error_of(R"({"input":[[1],[]]})").substr(0, 23), "invalid_value: input[1]");
  EXPECT_EQ(error_of(R"({"input":[1,100]})"),
            "invalid_value: input[1] is 100; it must lie between 0 and 99");
  EXPECT_NE(error_of(R"({"input":[]})"), "none");
  EXPECT_NE(error_of(R"({"input":["a","b","c","d"]})"), "none");
  EXPECT_NE(error_of(R"({"input":["a",1]})"), "none");
  EXPECT_EQ(error_of(R"({"input":"a","encoding_format":"int8"})"),
            "invalid_value: encoding_format must be float or base64");
  EXPECT_EQ(error_of(R"({"input":"a","dimensions":9})"),
            "invalid_value: dimensions is 9; it must lie between 1 and 8");
  EXPECT_NE(error_of(R"({"input":"a","dimensions":0})"), "none");
}

}  // namespace
}  // namespace hearth
