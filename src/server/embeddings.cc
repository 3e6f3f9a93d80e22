#include "server/embeddings.h"

#include <vector>

#include "server/embedding_task.h"

namespace hearth {

Embeddings::~Embeddings() {
  // The server may tell them of their clients' end still.
  for (const auto& task : under_way_) task->forget();
}

EmbeddingOutcome Embeddings::outcome_of(unsigned status) {
  if (status == 429 || status == 503) return EmbeddingOutcome::kBusy;
  return status >= 500 ? EmbeddingOutcome::kFailed : EmbeddingOutcome::kRefused;
}

std::optional<ApiError> Embeddings::take_bytes(uint64_t bytes) {
  if (bytes_ + bytes <= limits_.memory_bytes) {
    bytes_ += bytes;
    return {};
  }
  constexpr const char* kSeconds = "2";
  return ApiError{429,
                  "",
                  "queue_full",
                  "the requests for embeddings under way take as much memory as this server has "
                  "for them: try again in a moment, or ask for fewer texts",
                  {},
                  {{"Retry-After", kSeconds}}};
}

void Embeddings::start(const std::shared_ptr<Exchange>& exchange, const ServedEmbedder& model) {
  auto task = std::make_shared<EmbeddingTask>(*this, exchange, model);
  under_way_.insert(task);
  task->start();
}

void Embeddings::fail_all(const ApiError& error) {
  // Each that ends leaves the set.
  std::vector<std::shared_ptr<EmbeddingTask>> all(under_way_.begin(), under_way_.end());
  for (const auto& task : all) task->fail(error);
}

}  // namespace hearth
