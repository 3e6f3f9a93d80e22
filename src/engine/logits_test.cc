#include "engine/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace hearth {
namespace {

using Top = std::vector<std::pair<int32_t, double>>;

TEST(Logprobs, SumToOne) {
  std::vector<float> logits = {1.5f, -2, 0, 7};
  double norm = log_sum_exp(logits), sum = 0;
  for (float logit : logits) sum += std::exp(logit - norm);
  // The sum has a few roundings of doubles near 1.
  EXPECT_NEAR(sum, 1, 1e-14);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{0, 0, 0, 0}), std::log(4), 1e-15);
}

TEST(Logprobs, LargeLogitsDoNotOverflow) {
  EXPECT_EQ(log_sum_exp(std::vector<float>{1e30f, -1e30f}), double{1e30f});
  EXPECT_NEAR(log_sum_exp(std::vector<float>{-5000, -5000}), -5000 + std::log(2), 1e-12);
  EXPECT_EQ(log_sum_exp(std::vector<float>{3}), 3);
}

TEST(Logprobs, TheLikeliestComeFirstAndTheLowerIdAmongEquals) {
  std::vector<float> logits = {1, 5, 2, 5, -1};
  EXPECT_EQ(top_logprobs(logits, 5, 3), (Top{{1, 0}, {3, 0}, {2, -3}}));
  EXPECT_EQ(top_logprobs(logits, 0, 0), Top{});
  EXPECT_EQ(top_logprobs(logits, 0, 99).size(), 5u) << "no more than there are";
  EXPECT_EQ(top_logprobs(logits, 0, 5).back(), (std::pair<int32_t, double>{4, -1}));
}

TEST(TopTokens, AreThoseThatSortingGives) {
  std::mt19937 random(3);
  for (uint32_t most : {1u, 3u, 100u, 1u << 30}) {
    std::vector<float> logits(1000);
    for (float& logit : logits) logit = static_cast<float>(random() % most);
    std::vector<TokenLogit> all;
    for (float logit : logits) all.push_back({static_cast<int32_t>(all.size()), logit});
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.logit > b.logit; });
    for (uint32_t count : {1u, 2u, 40u, 999u, 1000u, 5000u}) {
      std::vector<TokenLogit> best(all.begin(), all.begin() + std::min(count, 1000u));
      EXPECT_EQ(top_tokens(logits, count), best) << most;
      // The logits are offered in parts, the last one first, and read in no order.
      TopTokens top;
      top.start(count, best.back().logit);
      top.offer(std::span(logits).subspan(617), 617);
      top.offer(std::span(logits).first(617));
      std::vector<TokenLogit> unsorted(top.unsorted().begin(), top.unsorted().end());
      EXPECT_TRUE(std::ranges::is_permutation(unsorted, best)) << most;
      EXPECT_TRUE(std::ranges::equal(top.sorted(), best)) << most;
    }
  }
  EXPECT_TRUE(top_tokens(std::vector<float>{1, 2}, 0).empty());
}

TEST(Logprobs, FindsNonFiniteLogitsAtAnyPlace) {
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    for (size_t at = 0; at < 5; ++at) {
      std::vector<float> logits(5, std::numeric_limits<float>::max());
      EXPECT_TRUE(all_finite(logits));
      logits[at] = bad;
      EXPECT_FALSE(all_finite(logits));
    }
  }
}

}  // namespace
}  // namespace hearth
