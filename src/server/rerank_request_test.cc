#include "server/rerank_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

RerankCall read_ranks(const std::string& body, bool cohere = false) {
  return read_rerank_call(body, {.inputs = 3}, cohere);
}

std::string rank_error(const std::string& fields) {
  try {
    read_ranks("{" + fields + "}");
  } catch (const RequestError& error) {
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}

using Texts = std::vector<std::string>;

TEST(RerankRequest, EveryApisWords) {
  const RerankCall jina = read_ranks(R"({"model":"m","query":"q","documents":["a",{"text":"b"}],
                                         "top_n":1})");
  EXPECT_EQ(jina.form, RerankForm::kJina);
  EXPECT_EQ(jina.model, "m");
  EXPECT_EQ(jina.query, "q");
  EXPECT_EQ(jina.documents, (Texts{"a", "b"}));
  EXPECT_EQ(jina.best, 1u);
  EXPECT_TRUE(jina.with_documents);
  EXPECT_FALSE(jina.raw || jina.truncate);
  const RerankCall tei =
      read_ranks(R"({"query":{"text":"q"},"texts":["a"],"raw_scores":true,"truncate":true})");
  EXPECT_EQ(tei.form, RerankForm::kTei);
  EXPECT_STREQ(tei.documents_field(), "texts");
  EXPECT_TRUE(tei.raw && tei.truncate);
  EXPECT_FALSE(tei.with_documents);
  EXPECT_TRUE(read_ranks(R"({"query":"q","texts":["a"],"return_text":true})").with_documents);
  const RerankCall cohere =
      read_ranks(R"({"query":"q","documents":[""],"max_tokens_per_doc":9,"priority":0})", true);
  EXPECT_EQ(cohere.form, RerankForm::kCohere);
  EXPECT_EQ(cohere.document_tokens, 9u);
  EXPECT_EQ(cohere.documents, Texts{""});
  EXPECT_FALSE(cohere.with_documents);
}

TEST(RerankRequest, NamesWrongFields) {
  for (auto [fields, error] : {
           std::pair{R"("documents":["a"])", "missing_required_parameter: query"},
           std::pair{R"("query":"","documents":["a"])", "invalid_value: query is empty"},
           std::pair{R"("query":5,"documents":["a"])", "invalid_type: query"},
           std::pair{R"("query":"q")", "missing_required_parameter: documents"},
           std::pair{R"("query":"q","documents":[])", "invalid_value: documents"},
           std::pair{R"("query":"q","documents":["a","b","c","d"])", "invalid_value: documents"},
           std::pair{R"("query":"q","documents":["a",5])", "invalid_type: documents[1]"},
           std::pair{R"("query":"q","texts":[{"title":"x"}])",
                     "missing_required_parameter: texts[0].text"},
           std::pair{R"("query":"q","documents":["a"],"top_n":0)", "invalid_value: top_n"},
           std::pair{R"("query":"q","documents":["a"],"raw_scores":1)", "invalid_type: raw_scores"},
           std::pair{R"("query":"q","documents":["a"],"max_tokens_per_doc":0)",
                     "invalid_value: max_tokens_per_doc"},
       }) {
    EXPECT_EQ(rank_error(fields).find(error), 0u) << rank_error(fields);
  }
}

TEST(RerankRequest, RefusesEveryUnsupportedFieldByName) {
  for (const UnbuiltField& field : unbuilt_rerank_fields()) {
    const std::string error =
        rank_error(fmt::format(R"("query":"q","documents":["a"],"{}":[3])", field.name));
    EXPECT_EQ(error.find(fmt::format("unsupported_parameter: {} ", field.name)), 0u) << error;
  }
  EXPECT_EQ(rank_error(R"("query":"q","documents":["a"],"truncation_direction":"Right",
                          "rank_fields":null,"user":"x","max_chunks_per_doc":0)"),
            "none");
}

}  // namespace
}  // namespace hearth
