// AppMetrics: what the server counts about its requests, and how all figures are written for
// GET /metrics, together with the engine's Statistics. Any thread may count and read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/histogram.h"
#include "engine/statistics.h"

namespace hearth {

// How a request for text ended.
enum class Outcome : uint8_t {
  kStop,       // every choice came to its end by itself
  kLength,     // one ran into max_tokens or the context
  kCancelled,  // the client left, or was cut off
  kRefused,    // 4xx: what was asked cannot be
  kBusy,       // 429 and 503
  kFailed,     // 5xx, or an error within a stream
};
inline constexpr size_t kOutcomes = 6;
const char* outcome_name(Outcome outcome);

struct AppMetrics {
  AppMetrics();

  std::array<Counter, kOutcomes> requests;  // for text, by outcome
  Counter prompt_tokens;                    // of admitted requests
  Histogram first_token_seconds;            // from the request's head to its first token
  Histogram token_seconds;                  // between tokens of a choice, its mean
  Histogram request_seconds;                // from the request's head to the end of its answer
  Histogram queue_seconds;                  // from submission until it has KV pages
  Histogram prefill_seconds;                // from then to the first token

  void count(Outcome outcome) { requests[static_cast<size_t>(outcome)].add(1); }
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
