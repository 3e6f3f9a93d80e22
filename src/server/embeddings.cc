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
