// AppMetrics: what the server counts about its requests, and how all figures are written for
// GET /metrics, together with the engine's Statistics. Any thread may count and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/histogram.h"
#include "engine/statistics.h"
#include "server/request_metrics.h"

namespace hearth {

struct AppMetrics {
  AppMetrics();

  RequestMetrics requests;        // for text
  Counter prompt_tokens;          // of admitted requests
  Histogram first_token_seconds;  // from the request's head to its first token
  Histogram token_seconds;        // between tokens of a choice, its mean
  Histogram queue_seconds;        // from submission until it has KV pages
  Histogram prefill_seconds;      // from then to the first token
};

// What is so now.
struct AppGauges {
  size_t connections = 0, exchanges = 0;
  uint64_t displaced_connections = 0, refused_connections = 0;  // so far
  uint64_t reply_bytes = 0;
};

// `statistics` may be null: the model is still being loaded.
std::string metrics_text(const AppMetrics& metrics, const AppGauges& gauges,
                         const Statistics* statistics);

}  // namespace hearth
