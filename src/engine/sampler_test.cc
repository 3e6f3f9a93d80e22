#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "base/error.h"
#include "grammar/token_mask.h"

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
  for (int i = 0; i < draws; ++i) ++counts[sampler.sample(logits).value()];
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
    for (int i = 0; i < 20; ++i) tokens.push_back(sampler.sample(logits).value());
    return tokens;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(Sampler, SaysWhichTokensTheOptionsLetCome) {
  SamplingParams params = plain(1);
  params.logit_bias = {{1, 3.0f}, {2, -INFINITY}, {3, -100.0f}};
  params.late = {4};
  params.min_tokens = 1;
  Sampler sampler(params);
  auto which = [&] {
    std::vector<int32_t> may_come;
    for (int32_t token = 0; token < 6; ++token) {
      if (sampler.may_come(token)) may_come.push_back(token);
    }
    return may_come;
  };
  EXPECT_EQ(which(), (std::vector<int32_t>{0, 1, 3, 5}));
  sampler.accept(0);
  EXPECT_EQ(which(), (std::vector<int32_t>{0, 1, 3, 4, 5}));
  params.allowed = {0, 2, 4};
  sampler = Sampler(params);
  EXPECT_EQ(which(), (std::vector<int32_t>{0}));
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
  // Every draw must be one of the largest k: only those are allowed, and the distribution over them
  // is flat.
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

SamplingParams random_params(std::mt19937& random) {
  auto pick = [&](std::initializer_list<float> of) { return of.begin()[random() % of.size()]; };
  SamplingParams params;
  params.temperature = pick({0, 0.3f, 0.8f, 1.5f});
  params.top_k = static_cast<uint32_t>(pick({0, 1, 2, 7, 40, 300, 600}));
  params.top_p = pick({0, 0.5f, 0.95f, 0.999f, 1});
  params.min_p = pick({0, 0.05f, 0.5f});
  params.seed = random();
  return params;
}

TEST(Sampler, TheBestGiveTheTokenOfTheWholeRow) {
  std::mt19937 random(11);
  std::map<uint32_t, int> needed;
  for (int round = 0; round < 1000; ++round) {
    SamplingParams params = random_params(random);
    Sampler whole(params), best(params);
    uint32_t vocabulary = 1 + random() % 500;
    uint32_t count = best.best_needed(vocabulary);
    ++needed[count];
    if (count == 0) continue;
    for (int draw = 0; draw < 10; ++draw) {
      std::vector<float> logits(vocabulary);
      for (float& logit : logits) logit = static_cast<float>(random() % 40) * 0.25f;
      ASSERT_EQ(best.sample_best(top_tokens(logits, count)), whole.sample(logits)) << count;
    }
  }
  for (uint32_t count : {0u, 1u, 2u, 7u, 40u, 300u}) EXPECT_GT(needed[count], 0) << count;
}

// A mask has the effect of logits of -inf, for all other options.
TEST(Sampler, AMaskForbidsTokens) {
  std::mt19937 random(12);
  for (int round = 0; round < 500; ++round) {
    SamplingParams params = random_params(random);
    if (round % 3 == 0) params.repeat_penalty = 1.3f;
    Sampler masked(params), forbidden(params);
    std::vector<float> logits(1 + random() % 200);
    std::vector<uint64_t> mask(mask_words(logits.size()));
    std::vector<float> left(logits.size(), -INFINITY);
    for (size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>(random() % 40) * 0.25f;
      if (random() % 4 != 0) continue;
      set_bit(mask, static_cast<int32_t>(i));
      left[i] = logits[i];
    }
    const std::optional<int32_t> token = masked.sample(logits, mask);
    if (std::ranges::count(mask, 0) == static_cast<ptrdiff_t>(mask.size())) {
      EXPECT_EQ(token, std::nullopt);
      continue;
    }
    ASSERT_TRUE(token);
    EXPECT_TRUE(has_bit(mask, *token));
    EXPECT_EQ(token, forbidden.sample(left));
  }
}

// The bound 18.5: chi-square with 4 degrees of freedom exceeds it once in 1,000; the seed is fixed.
TEST(Sampler, DrawingAgainIsAsGoodAsDrawingFromTheMask) {
  const std::vector<float> logits = {0, 1, 2, 0.5f, 1.5f, 2.5f, -1};
  const std::vector<uint64_t> mask = {0b1010111};
  constexpr int kDraws = 20000;
  Sampler sampler(plain(0.7f));
  EXPECT_TRUE(sampler.draws_from_all(logits.size()));
  std::map<int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    int32_t token = sampler.sample(logits).value();
    if ((mask[0] >> token & 1) == 0) token = sampler.sample(logits, mask).value();
    ++counts[token];
  }
  double sum = 0, square = 0;
  auto weight = [&](size_t i) { return mask[0] >> i & 1 ? std::exp(logits[i] / 0.7) : 0; };
  for (size_t i = 0; i < logits.size(); ++i) sum += weight(i);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double wanted = kDraws * weight(i) / sum;
    const int found = counts[static_cast<int32_t>(i)];
    if (wanted > 0) {
      square += (found - wanted) * (found - wanted) / wanted;
    } else {
      EXPECT_EQ(found, 0);
    }
  }
  EXPECT_LT(square, 18.5);
  SamplingParams few = plain(1);
  few.top_p = 0.9f;
  EXPECT_FALSE(Sampler(few).draws_from_all(logits.size()));
  EXPECT_FALSE(Sampler(plain(0)).draws_from_all(logits.size()));
}

TEST(Sampler, TheBestAreEnoughWhereNothingElseMatters) {
  auto needed = [](auto change) {
    SamplingParams params;
    change(params);
    return Sampler(params).best_needed(1000);
  };
  EXPECT_EQ(needed([](SamplingParams&) {}), 40u);
  EXPECT_EQ(needed([](SamplingParams& p) { p.temperature = 0; }), 1u);
  EXPECT_EQ(needed([](SamplingParams& p) { p.top_k = 512; }), 512u);
  EXPECT_EQ(needed([](SamplingParams& p) { p.top_k = 513; }), 0u);
  EXPECT_EQ(needed([](SamplingParams& p) { p.top_k = 0; }), 0u);
  EXPECT_EQ(needed([](SamplingParams& p) { p.top_p = 1; }), 0u);
  for (float temperature : {0.0f, 0.8f}) {
    EXPECT_EQ(needed([&](SamplingParams& p) {
                p.temperature = temperature;
                p.repeat_penalty = 1.1f;
              }),
              0u);
    EXPECT_EQ(needed([&](SamplingParams& p) {
                p.temperature = temperature;
                p.presence_penalty = 1;
              }),
              0u);
    EXPECT_EQ(needed([&](SamplingParams& p) {
                p.temperature = temperature;
                p.frequency_penalty = 1;
              }),
              0u);
    EXPECT_EQ(needed([&](SamplingParams& p) {
                p.temperature = temperature;
                p.logit_bias = {{3, 1}};
              }),
              0u);
  }
  EXPECT_EQ(Sampler({}).best_needed(40), 0u) << "all of them";
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

TEST(Sampler, PenaltiesMayCountAllThatWasGeneratedAndNothingElse) {
  SamplingParams params = plain(0);
  params.frequency_penalty = 0.4f;
  params.presence_penalty = 0.1f;
  params.penalise_generated = true;
  for (uint32_t window : {0u, 1u, 64u}) {
    params.penalty_window = window;
    Sampler sampler(params);
    std::vector<float> logits = {3, 2.2f, -1};
    for (int i = 0; i < 5; ++i) sampler.accept_prompt(0);
    EXPECT_EQ(sampler.sample(logits), 0) << "the prompt does not count";
    sampler.accept(0);
    EXPECT_EQ(sampler.sample(logits), 0);  // 3 - 0.5 against 2.2
    sampler.accept(1);
    sampler.accept(0);
    EXPECT_EQ(sampler.sample(logits), 0) << "window " << window;  // 3 - 0.9 against 2.2 - 0.5
    sampler.accept(0);
    sampler.accept(0);
    EXPECT_EQ(sampler.sample(logits), 1);  // 3 - 1.7 against 1.7
  }
}

TEST(Sampler, TheRepeatPenaltyKeepsItsWindowWhateverTheOthersCount) {
  SamplingParams params = plain(0);
  params.repeat_penalty = 2;
  params.penalty_window = 1;
  params.penalise_generated = true;
  Sampler sampler(params);
  std::vector<float> logits = {3, 2, -1};
  sampler.accept_prompt(0);
  EXPECT_EQ(sampler.sample(logits), 1);  // 1.5 against 2
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(logits), 0);  // token 0 leaves the window
}

TEST(Sampler, BiasForbids) {
  SamplingParams params = plain(1);
  params.logit_bias = {{0, -std::numeric_limits<float>::infinity()}, {2, 100}};
  Sampler sampler(params);
  EXPECT_EQ(sampler.sample(std::vector<float>{50, 0, 0}), 2);
}

TEST(Sampler, NothingIsLeftWhereEverythingIsForbidden) {
  float never = -std::numeric_limits<float>::infinity();
  for (float temperature : {0.0f, 1.0f}) {
    for (uint32_t top_k : {0u, 2u}) {
      for (float top_p : {0.5f, 1.0f}) {
        SamplingParams params = plain(temperature);
        params.top_k = top_k;
        params.top_p = top_p;
        params.repeat_penalty = 2;
        params.logit_bias = {{0, never}, {1, never}, {2, never}};
        Sampler sampler(params);
        sampler.accept(0);
        EXPECT_FALSE(sampler.sample(std::vector<float>{3, 2, -1}));
      }
    }
  }
}

TEST(Sampler, SamplesAllowedTokensOnly) {
  std::vector<float> logits = {5, 1, 4, 3};
  for (float temperature : {0.0f, 1.0f}) {
    Sampler sampler({.temperature = temperature, .top_k = 0, .allowed = {1, 3}});
    EXPECT_EQ(sampler.best_needed(logits.size()), 0u);
    for (int i = 0; i < 50; ++i) {
      int32_t token = *sampler.sample(logits);
      EXPECT_TRUE(token == 3 || (token == 1 && temperature > 0)) << token;
    }
  }
}

TEST(Sampler, LateTokensComeBehindTheFirst) {
  std::vector<float> logits = {5, 1, 4, 3};
  Sampler sampler({.temperature = 0, .min_tokens = 2, .late = {0, 2}});
  sampler.accept_prompt(0);
  for (int32_t expected : {3, 3, 0, 0}) {
    EXPECT_EQ(sampler.best_needed(logits.size()), expected == 3 ? 0u : 1u);
    EXPECT_EQ(*sampler.sample(logits), expected);
    sampler.accept(expected);
  }
}

TEST(CheckSampling, NamesTheField) {
  // Returns the field and the message of the refusal.
  auto refused = [](auto change) {
    SamplingParams params;
    change(params);
    try {
      check_sampling(params, 10);
      return std::pair<std::string, std::string>();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kUsage);
      EXPECT_TRUE(std::string(e.what()).starts_with(e.field() + " ")) << e.what();
      return std::pair(e.field(), std::string(e.what()));
    }
  };
  EXPECT_EQ(refused([](SamplingParams&) {}).first, "");
  EXPECT_EQ(refused([](SamplingParams& p) { p.temperature = 200; }).second,
            "temperature is 200; it must lie between 0 and 100");
  EXPECT_EQ(refused([](SamplingParams& p) { p.temperature = -1; }).first, "temperature");
  EXPECT_EQ(refused([](SamplingParams& p) { p.top_p = NAN; }).first, "top_p");
  EXPECT_EQ(refused([](SamplingParams& p) { p.min_p = 2; }).first, "min_p");
  EXPECT_EQ(refused([](SamplingParams& p) { p.repeat_penalty = 0; }).first, "repeat_penalty");
  auto bias = [&](int32_t token, float value) {
    return refused([&](SamplingParams& p) { p.logit_bias = {{token, value}}; });
  };
  EXPECT_EQ(bias(10, 1).first, "logit_bias");
  EXPECT_NE(bias(10, 1).second.find("token 10"), std::string::npos);
  EXPECT_EQ(bias(5, NAN).first, "logit_bias");
  auto forbidding = [&](int32_t tokens, size_t times) {
    return refused([&](SamplingParams& p) {
      for (size_t i = 0; i < times; ++i) {
        for (int32_t token = 0; token < tokens; ++token) {
          p.logit_bias.emplace_back(token, -INFINITY);
        }
      }
    });
  };
  EXPECT_EQ(forbidding(10, 1).second,
            "logit_bias forbids all 10 tokens: leave at least one without a bias of -inf (in a "
            "request, -100)");
  EXPECT_EQ(forbidding(10, 2).first, "logit_bias");
  EXPECT_EQ(forbidding(9, 2).first, "");
  EXPECT_EQ(refused([](SamplingParams& p) { p.allowed = {10}; }).first, "allowed_token_ids");
  auto allowed = [&](uint32_t least) {
    return refused([&](SamplingParams& p) {
      p.allowed = {2, 3};
      p.logit_bias = {{2, -INFINITY}};
      p.late = {3};
      p.min_tokens = least;
    });
  };
  EXPECT_EQ(allowed(0).first, "");
  EXPECT_EQ(allowed(1).first, "allowed_token_ids");
}

}  // namespace
}  // namespace hearth
