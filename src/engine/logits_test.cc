#include "engine/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hearth {
namespace {

using Top = std::vector<std::pair<int32_t, double>>;

TEST(Logprobs, SumToOne) {
  std::vector<float> logits = {1.5f, -2, 0, 7};
  double norm = log_sum_exp(logits), sum = 0;
  for (float logit : logits) sum += std::exp(logit - norm);
  // A few roundings of doubles near 1.
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

TEST(Logprobs, WhatIsNoNumberIsSeenWhereverItStands) {
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
