#include "server/ollama_embedding.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/json_reader.h"
#include "server/ollama_vectors.h"
#include "server/openapi.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr EmbeddingForm kSeveral = EmbeddingForm::kOllama, kOne = EmbeddingForm::kOllamaPrompt;

EmbeddingCall asked(const std::string& body, EmbeddingForm form) {
  return read_ollama_embedding(body, form, {.inputs = 3}, 100, 8, 512);
}

std::string refusal(const std::string& body, EmbeddingForm form) {
  try {
    asked(body, form);
  } catch (const RequestError& error) {
    return error.api().message;
  }
  return "none";
}

TEST(OllamaEmbedding, TextsAreTruncatedByDefault) {
  EXPECT_EQ(asked(R"({"input":"a","model":"m:latest"})", kSeveral).model, "m:latest");
  EXPECT_EQ(asked(R"({"input":["a","b"]})", kSeveral).inputs.size(), 2u);
  EXPECT_TRUE(asked(R"({"input":"a"})", kSeveral).truncate_to.has_value());
  EXPECT_FALSE(asked(R"({"input":"a","truncate":false})", kSeveral).truncate_to.has_value());
  EXPECT_EQ(asked(R"({"input":"a","dimensions":3})", kSeveral).dimensions, 3u);
  EXPECT_TRUE(asked(R"({"prompt":"a"})", kOne).truncate_to.has_value());
  for (const char* none : {R"({"input":""})", R"({"input":[]})"}) {
    EXPECT_TRUE(asked(none, kSeveral).inputs.empty());
  }
  EXPECT_TRUE(asked(R"({"prompt":""})", kOne).inputs.empty());
}

TEST(OllamaEmbedding, NamesWrongFields) {
  EXPECT_EQ(refusal("{}", kSeveral), "input is missing");
  EXPECT_EQ(refusal("{}", kOne), "prompt is missing");
  EXPECT_EQ(refusal(R"({"input":[1,2]})", kSeveral), "input[0] is a number; it must be a string");
  EXPECT_EQ(refusal(R"({"input":["a",""]})", kSeveral),
            "input[1] is empty: an embedding needs a text");
  EXPECT_EQ(refusal(R"({"input":["a","b","c","d"]})", kSeveral),
            "input has 4 entries; it may have at most 3");
  EXPECT_EQ(refusal(R"({"prompt":["a"]})", kOne), "prompt is an array; it must be a string");
  EXPECT_EQ(refusal(R"({"input":"a","dimensions":9})", kSeveral),
            "dimensions is 9; it must lie between 1 and 8");
  EXPECT_EQ(refusal(R"({"input":"a","options":{"num_ctx":512}})", kSeveral), "none");
  EXPECT_EQ(refusal(R"({"input":"a","options":{"num_ctx":513}})", kSeveral),
            "options.num_ctx is 513, more than the model's context of 512: ask for less");
}

TEST(OllamaEmbedding, BodiesAreAsDescribed) {
  const json::value document = read_json(openapi_json());
  auto body = [&](EmbeddingForm form, std::vector<EmbedVector> vectors, const char* schema) {
    OllamaVectors source(form, "m", {}, std::move(vectors), 9, 0.5);
    json::value value = read_json(whole_body(source));
    EXPECT_EQ(schema_error(document, schema, value), "");
    return value;
  };
  const json::value two = body(kSeveral, {{0.5f, 1}, {0.25f, -1}}, "OllamaEmbedReply");
  EXPECT_EQ(two.at_pointer("/embeddings/1/0"), 0.25);
  EXPECT_EQ(two.at("prompt_eval_count"), 9);
  EXPECT_EQ(two.at("total_duration"), 500'000'000);
  EXPECT_TRUE(body(kSeveral, {}, "OllamaEmbedReply").at("embeddings").as_array().empty());
  EXPECT_EQ(body(kOne, {{0.5f}}, "OllamaEmbeddingsReply").at_pointer("/embedding/0"), 0.5);
  EXPECT_TRUE(body(kOne, {}, "OllamaEmbeddingsReply").at("embedding").as_array().empty());
}

TEST(OllamaEmbedding, OpenApiDescribesExactlyTheFieldsThatAreRead) {
  const json::value document = read_json(openapi_json());
  for (EmbeddingForm form : {kSeveral, kOne}) {
    const char* name = form == kOne ? "OllamaEmbeddingsRequest" : "OllamaEmbedRequest";
    const json::value& schema = document.at("components").at("schemas").at(name);
    std::set<std::string, std::less<>> described, read;
    for (const auto& member : schema.at("properties").as_object()) described.emplace(member.key());
    for (std::string_view field : ollama_embedding_field_names(form)) read.emplace(field);
    EXPECT_EQ(described, read);
  }
}

}  // namespace
}  // namespace hearth
