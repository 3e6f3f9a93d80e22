#include "bench/serve_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/test_serve.h"

namespace hearth {
namespace {

TEST(ServeSlo, BothMustBeMet) {
  ServedRequest request = served(1, 0.1, 11);
  EXPECT_TRUE((ServeSlo{1.01, 0.11}).met_by(request));
  EXPECT_TRUE((ServeSlo{1.01, {}}).met_by(request));
  EXPECT_TRUE((ServeSlo{{}, 0.11}).met_by(request));
  EXPECT_FALSE((ServeSlo{0.99, 0.11}).met_by(request));
  EXPECT_FALSE((ServeSlo{1.01, 0.09}).met_by(request));
  // A single token has no time per token.
  EXPECT_TRUE((ServeSlo{1.01, 0.01}).met_by(served(1, 5, 1)));
  request.failure = "timeout";
  EXPECT_FALSE((ServeSlo{1.01, 0.11}).met_by(request));
}

TEST(ServeFigures, FiguresOfALoad) {
  ServedLoad load;
  load.seconds = 10;
  load.requests = {served(1, 0.1, 11), served(2, 0.2, 11), served(3, 0, 1)};
  load.requests[1].longest_gap = 0.7;
  load.requests[1].asked.output = 12;
  load.requests[2].counted_by_server = false;
  for (const char* kind : {"HTTP 429", "cut short", "HTTP 429"}) {
    load.requests.emplace_back().failure = kind;
    load.requests.back().said = kind == std::string("cut short") ? "" : "full";
  }
  ServeFigures f = serve_figures(load, {1.5, 0.15});
  EXPECT_EQ(f.requests, 6u);
  EXPECT_EQ(f.completed, 3u);
  ASSERT_EQ(f.failures.size(), 2u);
  EXPECT_EQ(f.failures["HTTP 429"].count, 2u);
  EXPECT_EQ(f.failures["HTTP 429"].said, "full");
  EXPECT_DOUBLE_EQ(f.request_rate, 0.3);
  EXPECT_EQ(f.prompt_tokens, 30u);
  EXPECT_EQ(f.output_tokens, 23u);
  EXPECT_DOUBLE_EQ(f.prompt_rate, 3);
  EXPECT_DOUBLE_EQ(f.output_rate, 2.3);
  EXPECT_DOUBLE_EQ(f.ttft.p50, 2);
  // Only two requests have a second token.
  EXPECT_DOUBLE_EQ(f.tpot.p50, 0.15);
  EXPECT_DOUBLE_EQ(f.gap.p50, 0.35);
  EXPECT_DOUBLE_EQ(*f.attainment, 1.0 / 6);
  EXPECT_DOUBLE_EQ(f.good_rate, 0.1);
  EXPECT_EQ(f.shorter, 1u);
  EXPECT_EQ(f.uncounted, 1u);
  EXPECT_FALSE(serve_figures(load, {}).attainment.has_value());
  EXPECT_EQ(serve_figures({}, {1, 1}).requests, 0u);
}

// Returns a load of ten requests at `rate`; `met` of them meet an objective of a second.
ServedLoad at_rate(double rate, int met) {
  ServedLoad load;
  load.rate = rate;
  load.seconds = 1;
  for (int i = 0; i < 10; ++i) load.requests.push_back(served(i < met ? 0.5 : 2, 0.1, 2));
  return load;
}

TEST(Goodput, IsTheHighestRateThatReachesNineOfTen) {
  ServeSlo slo{1, {}};
  EXPECT_EQ(goodput({at_rate(1, 10), at_rate(4, 9), at_rate(2, 10), at_rate(8, 8)}, slo), 4);
  EXPECT_EQ(goodput({at_rate(1, 8)}, slo), std::nullopt);
  EXPECT_EQ(goodput({at_rate(1, 10)}, {}), std::nullopt);
  ServedLoad closed = at_rate(1, 10);
  closed.rate.reset();
  EXPECT_EQ(goodput({closed}, slo), std::nullopt);
}

// Searches as if rates up to `capacity` reached the attainment; returns the rates tried.
std::vector<double> search(double first, double capacity) {
  RateSearch search(first);
  std::vector<double> tried;
  while (auto rate = search.next()) {
    tried.push_back(*rate);
    search.record(*rate, *rate <= capacity);
  }
  return tried;
}

TEST(RateSearch, ClosesInOnTheCapacity) {
  for (double capacity : {0.07, 0.3, 1.0, 1.7, 13.0, 900.0}) {
    double reached = 0;
    for (double rate : search(1, capacity)) {
      if (rate <= capacity) reached = std::max(reached, rate);
    }
    EXPECT_GE(reached * 1.05, capacity) << capacity;
  }
  std::vector<double> tried = search(8, 20);
  tried.resize(4);
  EXPECT_EQ(tried, (std::vector<double>{8, 16, 32, std::sqrt(512.0)}));
}

TEST(RateSearch, GivesUp) {
  EXPECT_EQ(search(4, 0), (std::vector<double>{4, 2, 1, 0.5, 0.25}));
  EXPECT_EQ(search(1, 1e30).size(), 24u);
}

}  // namespace
}  // namespace hearth
