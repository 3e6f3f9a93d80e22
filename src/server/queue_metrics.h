// Counts requests to an embedder or a reranker, and writes the lines of GET /metrics for them and
// for the devices' queues. Any thread may count and read.
#pragma once

#include <span>
#include <string>

#include "embed/queue_manager.h"
#include "engine/statistics.h"
#include "server/request_metrics.h"

namespace hearth {

struct QueueMetrics {
  QueueMetrics();

  RequestMetrics requests;
  Counter texts, tokens;  // the texts of accepted requests, and their tokens
};

// Parts of the metrics' names and of their help.
struct QueueMetricNames {
  const char *requests, *devices;  // the beginnings of the metrics' names
  const char *of_requests, *texts;
};
inline constexpr QueueMetricNames kEmbeddingMetrics = {"hearth_embedding", "hearth_embed",
                                                       "Requests for embeddings", "Texts"};
inline constexpr QueueMetricNames kRerankMetrics = {"hearth_rerank", "hearth_rerank",
                                                    "Requests to rank documents", "Documents"};

// `models`: the name of each device's model where there may be several; else empty.
std::string queue_metrics_text(const QueueMetricNames& names, const QueueMetrics& metrics,
                               std::span<const DeviceStatistics> devices,
                               std::span<const std::string> models = {});

}  // namespace hearth
