// EmbeddingTask: one request for embeddings. Each input is a text to embed; the reply holds their
// vectors.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "server/embedding_request.h"
#include "server/ollama_embedding.h"
#include "server/queued_answer.h"

namespace hearth {

class EmbeddingTask final : public QueuedAnswer {
 public:
  EmbeddingTask(QueuedTexts& all, Answers& answers, std::shared_ptr<Exchange> exchange,
                const ServedEmbedder& model, EmbeddingForm form = EmbeddingForm::kOpenAi)
      : QueuedAnswer(all, answers, std::move(exchange), model), form_(form) {}

 private:
  size_t read_call(std::string_view body) override;
  EmbedQuery query_of(size_t index) override;
  std::unique_ptr<BodySource> body_of(std::vector<EmbedVector> vectors, uint64_t tokens) override;
  const char* texts_field() const override {
    return form_ == EmbeddingForm::kOllamaPrompt ? "prompt" : "input";
  }

  const EmbeddingForm form_;
  EmbeddingCall call_;
};

}  // namespace hearth
