#include "server/rerank_task.h"

#include <utility>

#include "base/check.h"
#include "server/json_fields.h"
#include "server/rerank_body.h"

namespace hearth {

RerankTask::RerankTask(QueuedTexts& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                       const ServedEmbedder& model, bool cohere)
    : QueuedAnswer(all, answers, std::move(exchange), model), cohere_(cohere) {
  HEARTH_CHECK(model.pairs != nullptr, "a reranker reads pairs");
}

size_t RerankTask::read_call(std::string_view body) {
  call_ = read_rerank_call(body, limits(), cohere_);
  check_model(call_.model);
  return call_.documents.size();
}

EmbedQuery RerankTask::query_of(size_t index) {
  const std::string name = entry_name(call_.documents_field(), index);
  const std::string& document = call_.documents[index];
  PairTokens pair;
  try {
    if (!turns_) turns_ = pace();
    if (!query_) query_ = model().pairs->query(call_.query, model().context, &*turns_);
    pair = model().pairs->tokens(*query_, document, call_.document_tokens, &*turns_);
  } catch (const RequestError&) {
    throw;  // thrown by the pace
  } catch (const Error& error) {
    if (error.field() == "query") {
      throw RequestError({400, "", "context_length_exceeded", error.what(), "query", {}});
    }
    throw RequestError(kInvalidValue, query_ ? name : "query", error.what());
  }
  if (pair.too_long && !call_.truncate) {
    throw RequestError(text_too_long(name + " with the query", name, pair.whole, model().context));
  }
  return {{}, std::move(pair.ids), pair.second};
}

std::unique_ptr<BodySource> RerankTask::body_of(std::vector<EmbedVector> vectors, uint64_t tokens) {
  std::vector<float> logits;
  for (const EmbedVector& vector : vectors) logits.push_back(vector.at(0));
  return std::make_unique<RerankBody>("rerank-" + exchange().request().id, model().name,
                                      std::move(call_), std::move(logits), tokens);
}

}  // namespace hearth
