#include "server/request_metrics.h"

#include <gtest/gtest.h>

#include "server/metrics_text.h"

namespace hearth {
namespace {

TEST(RequestMetrics, ErrorsAreRefusalsBusyTimesOrFailures) {
  for (unsigned status : {400u, 401u, 404u, 413u}) {
    EXPECT_EQ(outcome_of_error(status), Outcome::kRefused) << status;
  }
  for (unsigned status : {429u, 503u}) EXPECT_EQ(outcome_of_error(status), Outcome::kBusy);
  EXPECT_EQ(outcome_of_error(500), Outcome::kFailed);
}

TEST(RequestMetrics, DurationsCountSuccessfulRequestsOnly) {
  RequestMetrics metrics({1, 10});
  for (Outcome good : {Outcome::kOk, Outcome::kStop, Outcome::kLength}) metrics.count(good, 2);
  for (Outcome bad : {Outcome::kCancelled, Outcome::kRefused, Outcome::kBusy, Outcome::kFailed}) {
    metrics.count(bad, 5);
  }
  EXPECT_EQ(metrics.seconds.count(), 3u);
  EXPECT_EQ(metrics.seconds.sum(), 6);
  metrics.count(Outcome::kBusy, 5);
  MetricsText text;
  text.family("f", "counter", "Help.");
  constexpr Outcome kEnds[] = {Outcome::kOk, Outcome::kBusy};
  add_outcomes(metrics, kEnds, &text);
  EXPECT_EQ(text.take(),
            "# HELP f Help.\n# TYPE f counter\nf{outcome=\"ok\"} 1\nf{outcome=\"busy\"} 2\n");
}

}  // namespace
}  // namespace hearth
