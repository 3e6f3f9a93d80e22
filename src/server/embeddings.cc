#include "server/embeddings.h"

#include <vector>

#include "server/embedding_task.h"

namespace hearth {
namespace {

constexpr const char* kRetrySeconds = "2";

}  // namespace

Embeddings::~Embeddings() {
  // The server may tell them of their clients' end still.
  for (const auto& task : under_way_) task->forget();
}

EmbeddingOutcome Embeddings::outcome_of(unsigned status) {
  if (status == 429 || status == 503) return EmbeddingOutcome::kBusy;
  return status >= 500 ? EmbeddingOutcome::kFailed : EmbeddingOutcome::kRefused;
}

std::optional<ApiError> Embeddings::take_bytes(const std::string& client, uint64_t bytes,
                                               uint64_t already) {
  bool only = memory_.held_by(client) == already;
  if (only ? memory_.has_room(bytes) : memory_.may_take(client, bytes)) {
    memory_.take(client, bytes);
    return {};
  }
  return ApiError{429,
                  "",
                  "queue_full",
                  "the requests for embeddings under way take as much memory as this server has "
                  "for them, or for one client: try again in a moment, or ask for fewer texts",
                  {},
                  {{"Retry-After", kRetrySeconds}}};
}

std::optional<ApiError> Embeddings::take_tokens(const std::string& client, uint64_t tokens,
                                                const ServedEmbedder& model) {
  if (model.shares_slots && tokens_.held_by(client) > 0) {
    uint64_t slots = 0;
    for (const DeviceStatistics& device : model.queues.statistics()) slots += device.slots;
    tokens_.set_all(slots);
    if (!tokens_.may_take(client, tokens)) {
      return ApiError{429,
                      "",
                      "queue_full",
                      "your requests for embeddings have as many tokens as leave others a place: "
                      "try again in a moment",
                      {},
                      {{"Retry-After", kRetrySeconds}}};
    }
  }
  tokens_.take(client, tokens);
  return {};
}

void Embeddings::start(const std::shared_ptr<Exchange>& exchange, const ServedEmbedder& model) {
  auto task = std::make_shared<EmbeddingTask>(*this, exchange, model);
  // First: whatever fails from here on ends it.
  exchange->on_gone([task] { task->leave(); });
  under_way_.insert(task);
  task->start();
}

void Embeddings::fail_all(const ApiError& error) {
  // Each that ends leaves the set.
  std::vector<std::shared_ptr<EmbeddingTask>> all(under_way_.begin(), under_way_.end());
  for (const auto& task : all) task->fail(error);
}

}  // namespace hearth
