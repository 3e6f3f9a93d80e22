// Embeddings: what the requests for embeddings have together: the memory and the tokens of queues
// that they may take, and their figures. Used by the reactor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "http/client_shares.h"
#include "server/answers.h"
#include "server/embedding_metrics.h"
#include "server/embedding_request.h"
#include "server/served_embedder.h"

namespace hearth {

class EmbeddingTask;

class Embeddings {
 public:
  explicit Embeddings(const EmbeddingLimits& limits)
      : limits_(limits), memory_(limits.memory_bytes) {}
  Embeddings(const Embeddings&) = delete;
  Embeddings& operator=(const Embeddings&) = delete;

  // Reads the exchange's body as a request for embeddings, and answers it.
  void start(Answers& answers, const std::shared_ptr<Exchange>& exchange,
             const ServedEmbedder& model);

  EmbeddingMetrics& metrics() { return metrics_; }
  const EmbeddingMetrics& metrics() const { return metrics_; }

 private:
  friend class EmbeddingTask;

  // Takes so many bytes more for a client's request, which has `already` some. Nothing where it may
  // have them; else what to tell it. A client's only request is never too large for its share.
  std::optional<ApiError> take_bytes(const std::string& client, uint64_t bytes, uint64_t already);
  void give_back(const std::string& client, uint64_t bytes) { memory_.give_back(client, bytes); }

  // Takes tokens of the queues, likewise.
  std::optional<ApiError> take_tokens(const std::string& client, uint64_t tokens,
                                      const ServedEmbedder& model);
  void give_tokens_back(const std::string& client, uint64_t tokens) {
    tokens_.give_back(client, tokens);
  }

  const EmbeddingLimits limits_;
  EmbeddingMetrics metrics_;
  ClientShares memory_, tokens_{0};
};

}  // namespace hearth
