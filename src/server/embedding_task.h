// One request for embeddings on its way: every input is a text, and the reply has their vectors.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"
#include "server/queued_answer.h"

namespace hearth {

class EmbeddingTask final : public QueuedAnswer {
 public:
  using QueuedAnswer::QueuedAnswer;

 private:
  size_t read_call(std::string_view body) override;
  EmbedQuery query_of(size_t index) override;
  std::unique_ptr<BodySource> body_of(std::vector<EmbedVector> vectors, uint64_t tokens) override;
  const char* texts_field() const override { return "input"; }

  EmbeddingCall call_;
};

}  // namespace hearth
