// Embeddings: the requests for embeddings that are under way. Used by the reactor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>

#include "server/embedding_metrics.h"
#include "server/embedding_request.h"
#include "server/http_server.h"
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
      : limits_(limits), server_(server), worker_(worker), log_(log) {}
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
  // Takes so many bytes more for a request. Nothing where they may be had; else what to tell it.
  std::optional<ApiError> take_bytes(uint64_t bytes);
  void give_back(uint64_t bytes) { bytes_ -= bytes; }

  const EmbeddingLimits limits_;
  HttpServer& server_;
  RequestWorker& worker_;
  RequestLog& log_;
  EmbeddingMetrics metrics_;
  uint64_t bytes_ = 0;  // taken
  std::unordered_set<std::shared_ptr<EmbeddingTask>> under_way_;
};

}  // namespace hearth
