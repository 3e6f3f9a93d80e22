// RerankTask: one request to rank documents. Each document together with the query is one text for
// the reranker; the reply orders the documents by score.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "embed/pair_text.h"
#include "server/queued_answer.h"
#include "server/rerank_request.h"

namespace hearth {

class RerankTask final : public QueuedAnswer {
 public:
  // `cohere`: the request came on Cohere's route. `model` must have `pairs`.
  RerankTask(QueuedTexts& all, Answers& answers, std::shared_ptr<Exchange> exchange,
             const ServedEmbedder& model, bool cohere);

 private:
  size_t read_call(std::string_view body) override;
  EmbedQuery query_of(size_t index) override;
  std::unique_ptr<BodySource> body_of(std::vector<EmbedVector> vectors, uint64_t tokens) override;
  const char* texts_field() const override { return call_.documents_field(); }

  const bool cohere_;
  RerankCall call_;
  std::optional<PairQuery> query_;
  std::optional<Pace> turns_;  // one for all texts: also many small texts let other tasks run
};

}  // namespace hearth
