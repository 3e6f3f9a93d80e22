#include "server/embeddings.h"

#include "server/embedding_task.h"

namespace hearth {
namespace {

constexpr const char* kRetrySeconds = "2";

}  // namespace

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

void Embeddings::start(Answers& answers, const std::shared_ptr<Exchange>& exchange,
                       const ServedEmbedder& model) {
  answers.start(std::make_shared<EmbeddingTask>(*this, answers, exchange, model));
}

}  // namespace hearth
