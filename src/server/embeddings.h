// Embeddings: the requests for embeddings that are under way. Used by the reactor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "http/client_shares.h"
#include "http/server.h"
#include "server/embedding_metrics.h"
#include "server/embedding_request.h"
#include "server/request_log.h"
#include "server/request_worker.h"
#include "server/served_embedder.h"

namespace hearth {

class EmbeddingTask;

class Embeddings {
 public:
  // All outlive it; the worker must have ended, and the models' queues be gone, before it dies.
  Embeddings(const EmbeddingLimits& limits, HttpServer& server, RequestWorker& worker,
             RequestLog& log)
      : limits_(limits),
        server_(server),
        worker_(worker),
        log_(log),
        memory_(limits.memory_bytes) {}
  ~Embeddings();
  Embeddings(const Embeddings&) = delete;
  Embeddings& operator=(const Embeddings&) = delete;

  // Reads the exchange's body as a request for embeddings, and answers it.
  void start(const std::shared_ptr<Exchange>& exchange, const ServedEmbedder& model);
  // Ends all with this error.
  void fail_all(const ApiError& error);

  // A request for embeddings was refused before start(), with this status.
  void count_refusal(unsigned status) { metrics_.count(outcome_of(status)); }
  const EmbeddingMetrics& metrics() const { return metrics_; }

 private:
  friend class EmbeddingTask;

  static EmbeddingOutcome outcome_of(unsigned status);
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
  HttpServer& server_;
  RequestWorker& worker_;
  RequestLog& log_;
  EmbeddingMetrics metrics_;
  ClientShares memory_, tokens_{0};
  std::unordered_set<std::shared_ptr<EmbeddingTask>> under_way_;
};

}  // namespace hearth
