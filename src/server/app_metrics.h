// AppMetrics: the counters of the server's requests. GET /metrics shows them together with the
// engine's Statistics. Any thread may count and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/histogram.h"
#include "engine/statistics.h"
#include "server/model_set.h"
#include "server/request_metrics.h"

namespace hearth {

struct AppMetrics {
  AppMetrics();

  RequestMetrics requests;        // only requests for text
  Counter prompt_tokens;          // prompt tokens of admitted requests
  Histogram first_token_seconds;  // from the request's arrival to its first token
  Histogram token_seconds;        // mean time between a choice's tokens
  Histogram queue_seconds;        // from submission until the sequence has KV pages
  Histogram prefill_seconds;      // from the KV pages to the first token
};

// The gauges of /metrics: their values at the time of the request.
struct AppGauges {
  size_t connections = 0, exchanges = 0;
  uint64_t displaced_connections = 0, refused_connections = 0;  // since the start
  uint64_t reply_bytes = 0;
};

// The figures of one engine. `model`: the model's name, which labels the samples if there may be
// several engines; else empty.
struct EngineFigures {
  std::string_view model;
  const Statistics& statistics;
};

// Writes the body of GET /metrics. `engines`: those that are loaded.
std::string metrics_text(const AppMetrics& metrics, const AppGauges& gauges,
                         std::span<const EngineFigures> engines);

// Returns the lines of /metrics for the models of a set.
std::string model_metrics_text(std::span<const ModelRow> models);

}  // namespace hearth
