#include "server/request_metrics.h"

#include "base/enum_name.h"
#include "server/metrics_text.h"

namespace hearth {

const char* outcome_name(Outcome outcome) {
  return enum_name<Outcome::kFailed>(
      {"ok", "stop", "length", "cancelled", "refused", "busy", "failed"}, outcome);
}

Outcome outcome_of_error(unsigned status) {
  if (status == 429 || status == 503) return Outcome::kBusy;
  return status >= 500 ? Outcome::kFailed : Outcome::kRefused;
}

void RequestMetrics::count(Outcome outcome, double after_seconds) {
  ended[static_cast<size_t>(outcome)].add(1);
  bool good = outcome == Outcome::kOk || outcome == Outcome::kStop || outcome == Outcome::kLength;
  if (good) seconds.observe(after_seconds);
}

void add_outcomes(const RequestMetrics& metrics, std::span<const Outcome> outcomes,
                  MetricsText* text) {
  for (Outcome outcome : outcomes) {
    text->sample({{"outcome", outcome_name(outcome)}},
                 static_cast<double>(uint64_t{metrics.ended[static_cast<size_t>(outcome)]}));
  }
}

}  // namespace hearth
