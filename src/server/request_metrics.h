// Counters for each kind of request, which GET /metrics shows: how requests ended, and after how
// long. Any thread may count and read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/histogram.h"
#include "engine/statistics.h"

namespace hearth {

class MetricsText;

enum class Outcome : uint8_t {
  kOk,
  kStop,       // text: every choice ended by itself
  kLength,     // text: a choice reached max_tokens or the context's end
  kCancelled,  // the client left or was cut off
  kRefused,    // 4xx: the request is wrong
  kBusy,       // 429 and 503
  kFailed,     // 5xx, or an error within a stream
};
inline constexpr size_t kOutcomes = 7;
const char* outcome_name(Outcome outcome);
// Returns the outcome of a request that ends with an error of this status.
Outcome outcome_of_error(unsigned status);

struct RequestMetrics {
  explicit RequestMetrics(std::vector<double> second_bounds) : seconds(std::move(second_bounds)) {}

  std::array<Counter, kOutcomes> ended;
  Histogram seconds;  // from the head to the end of answered requests

  // Counts a request that ended so many seconds after its head came.
  void count(Outcome outcome, double after_seconds);
};

// Writes a sample of the metric family for each outcome: the number of requests that ended so.
void add_outcomes(const RequestMetrics& metrics, std::span<const Outcome> outcomes,
                  MetricsText* text);

}  // namespace hearth
