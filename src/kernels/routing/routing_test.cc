#include "kernels/routing/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace hearth {
namespace {

struct Choice {
  std::vector<uint32_t> experts;
  std::vector<float> weights;
};

Choice choose(const RouterRule& rule, const std::vector<float>& logits,
              const std::vector<float>& bias = {}) {
  Choice choice{std::vector<uint32_t>(rule.used), std::vector<float>(rule.used)};
  std::vector<float> scratch(2 * rule.experts + rule.groups);
  choose_experts(rule, logits.data(), bias.empty() ? nullptr : bias.data(), scratch.data(),
                 choice.experts.data(), choice.weights.data());
  return choice;
}

using Experts = std::vector<uint32_t>;

TEST(Routing, SoftmaxOfAllOrOfTheChosen) {
  const std::vector<float> logits = {1, 3, 2, 3.5f, -1};
  RouterRule rule{.experts = 5, .used = 2};
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit));
  Choice choice = choose(rule, logits);
  EXPECT_EQ(choice.experts, (Experts{1, 3}));
  EXPECT_NEAR(choice.weights[0], std::exp(3.0) / sum, 1e-6);
  EXPECT_NEAR(choice.weights[1], std::exp(3.5) / sum, 1e-6);
  rule.norm_topk = true;
  rule.scale = 2;
  choice = choose(rule, logits);
  EXPECT_NEAR(choice.weights[0], 2 / (1 + std::exp(0.5)), 1e-6);
  EXPECT_NEAR(choice.weights[0] + choice.weights[1], 2, 1e-6);
}

// Experts whose logits are far below the best one are still chosen by their logits, and the weights
// of the chosen ones add up to one.
TEST(Routing, SoftmaxOfChosenLogits) {
  RouterRule rule{.experts = 5, .used = 2, .gating = Gating::kSoftmaxOfChosen};
  Choice choice = choose(rule, {1, 3, 2, 3.5f, -1});
  EXPECT_EQ(choice.experts, (Experts{1, 3}));
  EXPECT_NEAR(choice.weights[0], 1 / (1 + std::exp(0.5)), 1e-7);
  EXPECT_NEAR(choice.weights[1], 1 / (1 + std::exp(-0.5)), 1e-7);
  choice = choose(rule, {-200, 0, -150, -300, -199});
  EXPECT_EQ(choice.experts, (Experts{1, 2}));
  EXPECT_EQ(choice.weights, (std::vector<float>{1, 0}));
  rule.used = 1;
  rule.scale = 3;
  EXPECT_EQ(choose(rule, {5, 5, 9, 9, 1}).experts, Experts{2});
  EXPECT_EQ(choose(rule, {5, 5, 9, 9, 1}).weights[0], 3);
}

TEST(Routing, ABiasChoosesAndDoesNotWeigh) {
  RouterRule rule{.experts = 4, .used = 1, .gating = Gating::kSigmoid};
  Choice choice = choose(rule, {2, 1, 0, -1}, {0, 0, 0, 5});
  EXPECT_EQ(choice.experts, Experts{3});
  EXPECT_NEAR(choice.weights[0], 1 / (1 + std::exp(1.0)), 1e-6);
}

TEST(Routing, ChoosesTheLowerOfEqualScores) {
  RouterRule rule{.experts = 6, .used = 3};
  EXPECT_EQ(choose(rule, {1, 2, 1, 2, 2, 1}).experts, (Experts{1, 3, 4}));
  EXPECT_EQ(choose(rule, {1, 1, 1, 1, 1, 1}).experts, (Experts{0, 1, 2}));
  rule.groups = 3;
  rule.groups_used = 2;
  EXPECT_EQ(choose(rule, {1, 1, 1, 1, 1, 1}).experts, (Experts{0, 1, 2}));
}

// One group has the best expert, and another group the best sum of two experts.
TEST(Routing, GroupsAreAsGoodAsTheirBestOrTheirBestTwo) {
  const std::vector<float> logits = {4, -9, -9, 1.5f, 1.4f, -9};
  RouterRule rule{.experts = 6, .used = 1, .groups = 2, .groups_used = 1};
  EXPECT_EQ(choose(rule, logits).experts, Experts{0});
  rule.gating = Gating::kSigmoid;
  EXPECT_EQ(choose(rule, logits).experts, Experts{3});
  // A group of one expert has no second expert.
  rule.groups = 6;
  EXPECT_EQ(choose(rule, logits).experts, Experts{0});
}

// If a group is left out, none of its experts is chosen, however low the biases of other experts
// are.
TEST(Routing, GroupsThatAreLeftOutGiveNone) {
  RouterRule rule{
      .experts = 4, .used = 2, .gating = Gating::kSigmoid, .groups = 2, .groups_used = 1};
  EXPECT_EQ(choose(rule, {0, 0, 0, 0}, {-9, -8, -20, -20}).experts, (Experts{0, 1}));
}

TEST(Routing, NanLogitsGiveNanWeights) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (Gating gating : {Gating::kSoftmax, Gating::kSigmoid, Gating::kSoftmaxOfChosen}) {
    RouterRule rule{.experts = 3, .used = 2, .gating = gating, .norm_topk = true};
    for (const std::vector<float>& logits :
         {std::vector<float>{nan, 1, 2}, {1, nan, 2}, {nan, nan, nan}}) {
      Choice choice = choose(rule, logits);
      EXPECT_LT(choice.experts[0], choice.experts[1]);
      EXPECT_LT(choice.experts[1], 3u);
      EXPECT_TRUE(std::isnan(choice.weights[0]) && std::isnan(choice.weights[1]));
    }
    Choice choice = choose(rule, {-inf, -inf, -inf});
    EXPECT_LT(choice.experts[1], 3u);
  }
}

TEST(Routing, ManyRandomRowsMeetASort) {
  std::mt19937 random(7);
  std::normal_distribution<float> draw;
  for (uint32_t experts : {2u, 7u, 64u, 256u}) {
    RouterRule rule{.experts = experts, .used = std::min(experts, 8u)};
    for (int round = 0; round < 50; ++round) {
      std::vector<float> logits(experts);
      // The logits have few different values, so that many are equal.
      for (float& logit : logits) logit = std::round(2 * draw(random));
      std::vector<uint32_t> sorted(experts);
      std::iota(sorted.begin(), sorted.end(), 0u);
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
      sorted.resize(rule.used);
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(choose(rule, logits).experts, sorted);
    }
  }
}

TEST(Routing, RowsAreGroupedByExpertInTheirOrder) {
  RouterRule rule{.experts = 4, .used = 2};
  std::vector<uint32_t> memory(choice_words(3, rule));
  ExpertChoices choices = choices_over(memory.data(), 3, rule);
  const std::vector<uint32_t> chosen = {1, 3, 0, 3, 1, 3};
  std::copy(chosen.begin(), chosen.end(), choices.chosen);
  group_by_expert(choices);
  auto words = [](const uint32_t* from, size_t n) { return Experts(from, from + n); };
  EXPECT_EQ(words(choices.first, 5), (Experts{0, 1, 3, 3, 6}));
  EXPECT_EQ(words(choices.row, 6), (Experts{1, 0, 2, 0, 1, 2}));
  EXPECT_EQ(words(choices.place, 6), (Experts{1, 3, 0, 4, 2, 5}));
}

}  // namespace
}  // namespace hearth
