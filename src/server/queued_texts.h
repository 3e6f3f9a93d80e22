// QueuedTexts: what the requests to one model, an embedder or a reranker, share: limits on their
// memory and on their tokens in the devices' queues, and their metrics. Used by the reactor's
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "http/api_error.h"
#include "http/client_shares.h"
#include "server/embedding_request.h"
#include "server/queue_metrics.h"
#include "server/served_embedder.h"

namespace hearth {

class QueuedTexts {
 public:
  // `requests`: the plural that names these requests in errors ("requests for embeddings").
  QueuedTexts(const EmbeddingLimits& limits, const char* requests)
      : limits_(limits), requests_(requests), memory_(limits.memory_bytes) {}
  QueuedTexts(const QueuedTexts&) = delete;
  QueuedTexts& operator=(const QueuedTexts&) = delete;

  const EmbeddingLimits& limits() const { return limits_; }
  QueueMetrics& metrics() { return metrics_; }
  const QueueMetrics& metrics() const { return metrics_; }

  // Takes `bytes` more for a client's request, which holds `already` bytes. Returns an error if the
  // limit or the client's share forbids that. A client's only request is never refused for its
  // share.
  std::optional<ApiError> take_bytes(const std::string& client, uint64_t bytes, uint64_t already);
  void give_back(const std::string& client, uint64_t bytes) { memory_.give_back(client, bytes); }

  // Takes tokens of the devices' queues as take_bytes() takes bytes.
  std::optional<ApiError> take_tokens(const std::string& client, uint64_t tokens,
                                      const ServedEmbedder& model);
  void give_tokens_back(const std::string& client, uint64_t tokens) {
    tokens_.give_back(client, tokens);
  }

 private:
  const EmbeddingLimits limits_;
  const char* const requests_;
  QueueMetrics metrics_;
  ClientShares memory_, tokens_{0};
};

}  // namespace hearth
