#include "engine/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

// Logits that count who asks for all of them.
class MadeRow : public RowLogits {
 public:
  explicit MadeRow(std::vector<float> logits) : logits_(std::move(logits)) {}

  std::span<const TokenLogit> best(uint32_t count, uint32_t below) override {
    if (!all_finite(logits_)) return {};
    best_.start(count);
    best_.offer(std::span(logits_).first(below));
    return best_.sorted();
  }
  std::span<const float> all() override {
    ++whole;
    return logits_;
  }

  int whole = 0;

 private:
  std::vector<float> logits_;
  TopTokens best_;
};

class GenerationTest : public testing::Test {
 protected:
  static Request request() {
    Request request;
    request.prompt = {'x'};
    request.sampling.temperature = 0;
    return request;
  }
  void start(const Request& request) {
    auto job = std::make_shared<Job>(7, request, stream_);
    generation_ = std::make_unique<Generation>(std::move(job), 0, 0);
  }
  // Logits that make `token` the one to take.
  static std::vector<float> for_token(int32_t token) {
    std::vector<float> logits(256);
    logits[static_cast<size_t>(token)] = 9;
    return logits;
  }
  Result take(const std::vector<float>& logits) {
    MadeRow row(logits);
    return take(row);
  }
  Result take(RowLogits& logits) {
    EXPECT_TRUE(stream_->reserve(1));
    const std::optional<Finish> finish = generation_->take_token(logits, limits_);
    Result result = *stream_->try_pop();
    EXPECT_EQ(result.finish, finish);
    return result;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = Tokenizer::from_vocab(bpe_vocab({}));
  GenerationLimits limits_{tokenizer_.get(), 256, 100};
  std::shared_ptr<ResultStream> stream_ = std::make_shared<ResultStream>();
  std::unique_ptr<Generation> generation_;
};

TEST_F(GenerationTest, ResultsSayWhoseTheyAre) {
  start(request());
  for (uint32_t i = 0; i < 3; ++i) {
    Result result = take(for_token('a'));
    EXPECT_EQ(result.request, 7u);
    EXPECT_EQ(result.choice, 0u);
    EXPECT_EQ(result.index, i);
    EXPECT_EQ(result.text, "a");
    EXPECT_FALSE(result.finish);
  }
  EXPECT_EQ(generation_->tokens().size(), 4u);
}

TEST_F(GenerationTest, LogprobsAreTheModelsNotTheSamplers) {
  Request biased = request();
  biased.sampling.logit_bias = {{'b', 100}};
  biased.logprobs = true;
  biased.top_logprobs = 2;
  start(biased);
  Result result = take(for_token('a'));
  EXPECT_EQ(result.token, 'b');
  double norm = std::log(std::exp(9.0) + 255);
  // A sum of 256 exponentials, each rounded to 2^-53 of it.
  EXPECT_NEAR(result.logprob, -norm, 1e-12);
  ASSERT_EQ(result.top_logprobs.size(), 2u);
  EXPECT_EQ(result.top_logprobs[0].first, 'a');
  EXPECT_NEAR(result.top_logprobs[0].second, 9 - norm, 1e-12);
}

TEST_F(GenerationTest, LogprobsNeedTheWholeRow) {
  for (const auto& [logprobs, top] : {std::pair(false, 0u), {true, 0u}, {false, 1u}}) {
    Request probable = request();
    probable.logprobs = logprobs;
    probable.top_logprobs = top;
    start(probable);
    MadeRow row(for_token('b'));
    EXPECT_EQ(take(row).text, "b");
    EXPECT_EQ(row.whole, logprobs || top > 0 ? 1 : 0);
  }
}

TEST_F(GenerationTest, LogitsThatAreNoNumbersEndIt) {
  for (const float temperature : {0.0f, 1.0f}) {
    Request drawn = request();
    drawn.sampling.temperature = temperature;
    start(drawn);
    const Result result = take(std::vector<float>(256, NAN));
    EXPECT_EQ(result.finish, Finish::kFailed);
    EXPECT_NE(result.error.find("not numbers"), std::string::npos);
  }
}

TEST_F(GenerationTest, WhoFailsGivesWhatWasHeldBack) {
  Request stops = request();
  stops.stops = {"abc"};
  start(stops);
  EXPECT_EQ(take(for_token('a')).text, "");
  EXPECT_EQ(take(for_token('b')).text, "");
  Result result = take(std::vector<float>(256, NAN));
  EXPECT_EQ(result.finish, Finish::kFailed);
  EXPECT_EQ(result.text, "ab");
}

TEST_F(GenerationTest, FailsWhereEveryTokenIsForbidden) {
  Request forbidden = request();
  for (int32_t token = 0; token < 256; ++token) {
    forbidden.sampling.logit_bias.emplace_back(token, -INFINITY);
  }
  start(forbidden);
  Result result = take(for_token('a'));
  EXPECT_EQ(result.finish, Finish::kFailed);
  EXPECT_FALSE(result.has_token());
  EXPECT_NE(result.error.find("forbids every one"), std::string::npos) << result.error;
}

TEST_F(GenerationTest, WithoutATokenizerThereIsNoText) {
  limits_.tokenizer = nullptr;
  start(request());
  EXPECT_EQ(take(for_token('a')).text, "");
  EXPECT_EQ(generation_->tokens().back(), 'a');
}

TEST_F(GenerationTest, TheFirstChoiceEndsForAll) {
  Request three = request();
  three.choices = 3;
  start(three);
  EXPECT_EQ(generation_->choices_together(), 3u);
  generation_->end(Finish::kCancelled);
  std::vector<uint32_t> choices;
  while (std::optional<Result> result = stream_->try_pop()) {
    EXPECT_EQ(result->finish, Finish::kCancelled);
    choices.push_back(result->choice);
  }
  std::sort(choices.begin(), choices.end());
  EXPECT_EQ(choices, (std::vector<uint32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace hearth
