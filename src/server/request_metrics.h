// How requests end, and what is counted of every kind of them for GET /metrics. Any thread may
// count and read.
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
  kStop,       // of text: every choice came to its end by itself
  kLength,     // of text: one ran into max_tokens or the context
  kCancelled,  // the client left, or was cut off
  kRefused,    // 4xx: what was asked cannot be
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
  Histogram seconds;  // from a request's head to the end of its answer, of good ones

  // Counts a request that has ended, so many seconds after its head came.
  void count(Outcome outcome, double after_seconds);
};

// The samples of a family: how many requests ended so.
void add_outcomes(const RequestMetrics& metrics, std::span<const Outcome> outcomes,
                  MetricsText* text);

}  // namespace hearth
