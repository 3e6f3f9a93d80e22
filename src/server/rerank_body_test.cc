#include "server/rerank_body.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

std::string body_of(const RerankCall& call, std::vector<float> logits) {
  RerankBody body("rerank-1", "m", call, std::move(logits), 12);
  return whole_body(body);
}

RerankCall three(RerankForm form) {
  RerankCall call;
  call.form = form;
  call.query = "q";
  call.documents = {"a", "b\"", "c"};
  return call;
}

TEST(RerankBody, TheBestComesFirstAndIndicesPointBack) {
  EXPECT_EQ(body_of(three(RerankForm::kJina), {-1, 2, 0}),
            R"({"id":"rerank-1","object":"list","model":"m","results":[)"
            R"({"index":1,"relevance_score":0.8807970779778823},)"
            R"({"index":2,"relevance_score":0.5},)"
            R"({"index":0,"relevance_score":0.2689414213699951}],)"
            R"("usage":{"prompt_tokens":12,"total_tokens":12}})"
            "\n");
  // Documents are ordered by logits, also where the scores are equal in their last digit.
  EXPECT_EQ(body_of(three(RerankForm::kCohere), {70, 80, 70}),
            R"({"id":"rerank-1","results":[{"index":1,"relevance_score":1.0},)"
            R"({"index":0,"relevance_score":1.0},{"index":2,"relevance_score":1.0}],)"
            R"("meta":{"api_version":{"version":"2"},"tokens":{"input_tokens":12}}})"
            "\n");
}

TEST(RerankBody, SomeOfThemWithTheirTextsAndRaw) {
  RerankCall tei = three(RerankForm::kTei);
  tei.with_documents = tei.raw = true;
  tei.best = 2;
  EXPECT_EQ(body_of(tei, {-1, 2.5F, 0}),
            R"([{"index":1,"score":2.5,"text":"b\""},{"index":2,"score":0.0,"text":"c"}])"
            "\n");
  RerankCall jina = three(RerankForm::kJina);
  jina.with_documents = true;
  jina.best = 1;
  EXPECT_NE(body_of(jina, {0, -9, -9})
                .find(R"("results":[{"index":0,"relevance_score":0.5,"document":{"text":"a"}}])"),
            std::string::npos);
}

TEST(RerankBody, ComesInPieces) {
  RerankCall call = three(RerankForm::kJina);
  call.with_documents = true;
  call.documents.assign(40, std::string(20000, 'x'));
  const std::vector<float> logits(call.documents.size(), 0);
  RerankBody whole("i", "m", call, logits, 1), pieces("i", "m", call, logits, 1);
  std::string joined;
  size_t count = 1;
  while (pieces.next(&joined)) ++count;
  EXPECT_GT(count, 2u);
  EXPECT_EQ(joined, whole_body(whole));
}

}  // namespace
}  // namespace hearth
