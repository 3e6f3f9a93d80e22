// The counters of requests to a model of embed/, and their lines for GET /metrics together with the
// figures of the devices' queues. Any thread may count and read.
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
  Counter texts, tokens;  // of accepted requests
};

// Names of metrics, and what their help calls texts.
struct QueueMetricNames {
  const char *requests, *devices;  // what they begin with
  const char *of_requests, *texts;
};
inline constexpr QueueMetricNames kEmbeddingMetrics = {"hearth_embedding", "hearth_embed",
                                                       "Requests for embeddings", "Texts"};
inline constexpr QueueMetricNames kRerankMetrics = {"hearth_rerank", "hearth_rerank",
                                                    "Requests to rank documents", "Documents"};

// `models`: whose each device is, where there may be several; else none.
std::string queue_metrics_text(const QueueMetricNames& names, const QueueMetrics& metrics,
                               std::span<const DeviceStatistics> devices,
                               std::span<const std::string> models = {});

}  // namespace hearth
