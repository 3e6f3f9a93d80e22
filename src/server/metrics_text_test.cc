#include "server/metrics_text.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(MetricsText, WritesFamilies) {
  MetricsText text;
  text.gauge("waiting", "Requests that wait.", 3);
  text.family("done_total", "counter", "Requests.");
  text.sample({{"outcome", "stop"}}, 12345678);
  text.sample({{"outcome", "a \"quoted\"\nline"}, {"route", "/x"}}, 0.5);
  EXPECT_EQ(text.take(),
            "# HELP waiting Requests that wait.\n# TYPE waiting gauge\nwaiting 3\n"
            "# HELP done_total Requests.\n# TYPE done_total counter\n"
            "done_total{outcome=\"stop\"} 12345678\n"
            "done_total{outcome=\"a \\\"quoted\\\"\\nline\",route=\"/x\"} 0.5\n");
}

TEST(MetricsText, AddsUpBuckets) {
  Histogram seconds({0.25, 1});
  for (double value : {0.125, 0.25, 0.5, 7.0}) seconds.observe(value);
  MetricsText text;
  text.histogram("ttft_seconds", "Time to first token.", seconds);
  EXPECT_EQ(text.take(),
            "# HELP ttft_seconds Time to first token.\n# TYPE ttft_seconds histogram\n"
            "ttft_seconds_bucket{le=\"0.25\"} 2\nttft_seconds_bucket{le=\"1\"} 3\n"
            "ttft_seconds_bucket{le=\"+Inf\"} 4\nttft_seconds_sum 7.875\nttft_seconds_count 4\n");
}

}  // namespace
}  // namespace hearth
