// What the server counts about requests for embeddings, and how it is written for GET /metrics with
// the figures of the devices' queues. Any thread may count and read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/histogram.h"
#include "embed/queue_manager.h"
#include "engine/statistics.h"

namespace hearth {

// How a request for embeddings ended.
enum class EmbeddingOutcome : uint8_t {
  kOk,
  kCancelled,  // the client left
  kRefused,    // 4xx: what was asked cannot be
  kBusy,       // 429 and 503
  kFailed,     // 5xx
};
inline constexpr size_t kEmbeddingOutcomes = 5;
const char* embedding_outcome_name(EmbeddingOutcome outcome);

struct EmbeddingMetrics {
  EmbeddingMetrics();

  std::array<Counter, kEmbeddingOutcomes> requests;
  Counter texts, tokens;      // of accepted requests
  Histogram request_seconds;  // from the request's head to the end of its answer, of good ones

  void count(EmbeddingOutcome outcome) { requests[static_cast<size_t>(outcome)].add(1); }
};

std::string embedding_metrics_text(const EmbeddingMetrics& metrics,
                                   std::span<const DeviceStatistics> devices);

}  // namespace hearth
