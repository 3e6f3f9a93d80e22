// What the server counts about requests for embeddings, and how it is written for GET /metrics with
// the figures of the devices' queues. Any thread may count and read.
#pragma once

#include <span>
#include <string>

#include "embed/queue_manager.h"
#include "engine/statistics.h"
#include "server/request_metrics.h"

namespace hearth {

struct EmbeddingMetrics {
  EmbeddingMetrics();

  RequestMetrics requests;
  Counter texts, tokens;  // of accepted requests
};

std::string embedding_metrics_text(const EmbeddingMetrics& metrics,
                                   std::span<const DeviceStatistics> devices);

}  // namespace hearth
