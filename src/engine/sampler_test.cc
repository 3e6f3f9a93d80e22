#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "base/error.h"

namespace hearth {
namespace {

SamplingParams plain(float temperature) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  return params;
}

std::map<int32_t, int> histogram(Sampler& sampler, const std::vector<float>& logits, int draws) {
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.sample(logits)];
  return counts;
}

TEST(Sampler, GreedyTakesTheLowestOfTheLargest) {
  Sampler sampler(plain(0));
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 5, 2, 5}), 1);
}

TEST(Sampler, DrawsByTheSoftmax) {
  Sampler sampler(plain(0.5f));
  // exp(2 ln 3) : exp(0) = 9 : 1.
  auto counts = histogram(sampler, {std::log(3.0f), 0}, 20000);
  EXPECT_NEAR(counts[0] / 20000.0, 0.9, 0.01);
}

TEST(Sampler, SameSeedSameDrawsOtherSeedOthers) {
  std::vector<float> logits(100, 0.0f);
  auto draws = [&](uint64_t seed) {
    SamplingParams params = plain(1);
    params.seed = seed;
    Sampler sampler(params);
    std::vector<int32_t> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(sampler.sample(logits));
    return tokens;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(Sampler, TopKTopPMinPKeepAPrefix) {
  std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  SamplingParams params = plain(1);
  params.top_k = 2;
  Sampler top_k(params);
  EXPECT_EQ(histogram(top_k, logits, 2000).size(), 2u);
  params = plain(1);
  params.top_p = 0.75f;  // 0.5 is not enough, 0.8 is
  Sampler top_p(params);
  EXPECT_EQ(histogram(top_p, logits, 2000).size(), 2u);
  params = plain(1);
  params.min_p = 0.2f;  // of the largest: 0.1
  Sampler min_p(params);
  EXPECT_EQ(histogram(min_p, logits, 2000).size(), 3u);
  params.top_p = 0;  // at least one token is kept
  Sampler none(params);
  EXPECT_EQ(histogram(none, logits, 100).size(), 1u);
}

TEST(Sampler, TopKFindsTheLargestWhereverTheyStand) {
  // With only the largest k allowed and a flat distribution over them, every draw must be one of
  // them.
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<float> logits(3000);
    for (float& l : logits) l = static_cast<float>(random() % 1000);
    std::vector<float> sorted = logits;
    std::sort(sorted.rbegin(), sorted.rend());
    SamplingParams params = plain(100);
    params.top_k = 1 + seed;
    Sampler sampler(params);
    for (auto [token, count] : histogram(sampler, logits, 200)) {
      EXPECT_GE(logits[static_cast<size_t>(token)], sorted[seed]);
    }
  }
}

TEST(Sampler, PenaltiesCountTheWindowOnly) {
  SamplingParams params = plain(0);
  params.repeat_penalty = 2;
  params.penalty_window = 2;
  Sampler sampler(params);
  std::vector<float> logits = {3, 2, -1};
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(logits), 1);  // 1.5 against 2
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(logits), 0);  // 1.5 against 1
  sampler.accept(1);                     // token 0 leaves the window
  EXPECT_EQ(sampler.sample(logits), 0);
  params = plain(0);
  params.frequency_penalty = 0.6f;
  params.presence_penalty = 0.1f;
  Sampler frequency(params);
  frequency.accept(0);
  EXPECT_EQ(frequency.sample(logits), 0);  // 3 - 0.7
  frequency.accept(0);
  EXPECT_EQ(frequency.sample(logits), 1);  // 3 - 1.3
}

TEST(Sampler, BiasForbids) {
  SamplingParams params = plain(1);
  params.logit_bias = {{0, -std::numeric_limits<float>::infinity()}, {2, 100}};
  Sampler sampler(params);
  EXPECT_EQ(sampler.sample(std::vector<float>{50, 0, 0}), 2);
}

TEST(CheckSampling, NamesTheOption) {
  auto refused = [](auto change) {
    SamplingParams params;
    change(params);
    try {
      check_sampling(params, 10);
      return std::string();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kUsage);
      return std::string(e.what());
    }
  };
  EXPECT_EQ(refused([](SamplingParams&) {}), "");
  EXPECT_NE(refused([](SamplingParams& p) { p.temperature = -1; }).find("--temp"),
            std::string::npos);
  EXPECT_NE(refused([](SamplingParams& p) { p.top_p = NAN; }).find("--top-p"), std::string::npos);
  EXPECT_NE(refused([](SamplingParams& p) { p.min_p = 2; }).find("--min-p"), std::string::npos);
  EXPECT_NE(refused([](SamplingParams& p) { p.repeat_penalty = 0; }).find("--repeat-penalty"),
            std::string::npos);
  EXPECT_NE(refused([](SamplingParams& p) {
              p.logit_bias = {{10, 1}};
            }).find("token 10"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
